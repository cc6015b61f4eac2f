/** Methods by the names that the server knows, and in which colour each is everywhere. */
export interface MethodChoice {
  key: string;
  name: string;
  colour: string;
  words: string;
}

export const METHODS: MethodChoice[] = [
  { key: "stacked", name: "Stacked", colour: "stacked", words: "the default: a mixture of several methods, weighed by held-out reports" },
  { key: "ibu", name: "IBU", colour: "ibu", words: "the iterative Bayesian update of the paper" },
  { key: "ibu-held-out", name: "held-out IBU", colour: "held-out", words: "the same, stopped by held-out reports" },
  { key: "mle", name: "MLE", colour: "mle", words: "the maximum of the likelihood" },
  { key: "inversion-normalize", name: "INV-N", colour: "normalized", words: "matrix inversion, normalised" },
  { key: "inversion-project", name: "INV-P", colour: "projected", words: "matrix inversion, projected" },
  { key: "smooth", name: "Smooth", colour: "smooth", words: "an average over smooth priors" },
];

/** RAPPOR's own estimators, which stand where inversion would. */
export const RAPPOR: MethodChoice[] = [
  { key: "rappor-normalize", name: "RAP-N", colour: "normalized", words: "RAPPOR's own estimator, normalised" },
  { key: "rappor-project", name: "RAP-P", colour: "projected", words: "RAPPOR's own estimator, projected" },
];
