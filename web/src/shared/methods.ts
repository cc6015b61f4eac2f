/** Methods by the names that the server knows, and in which colour each is everywhere. */
export interface MethodChoice {
  key: string;
  name: string;
  colour: string;
  words: string;
}

export const METHODS: MethodChoice[] = [
  {
    key: "stacked",
    name: "Stacked",
    colour: "stacked",
    words: "The default: mixes several methods, weighted by cross-validation.",
  },
  {
    key: "ibu",
    name: "IBU",
    colour: "ibu",
    words:
      "Starts even and corrects itself step by step until it agrees with the reports (the iterative Bayesian update).",
  },
  {
    key: "ibu-held-out",
    name: "held-out IBU",
    colour: "held-out",
    words: "The same, stopped by cross-validation before it follows the noise.",
  },
  {
    key: "mle",
    name: "MLE",
    colour: "mle",
    words: "The distribution under which these reports are most likely (maximum likelihood).",
  },
  {
    key: "inversion-normalize",
    name: "INV-N",
    colour: "normalized",
    words: "Undoes the noise by matrix inversion; what falls below zero is cut off.",
  },
  {
    key: "inversion-project",
    name: "INV-P",
    colour: "projected",
    words: "Undoes the noise by matrix inversion, then takes the nearest distribution.",
  },
  {
    key: "smooth",
    name: "Smooth",
    colour: "smooth",
    words: "Averages over smooth distributions, weighted by how well they fit.",
  },
];

/** RAPPOR's own estimators, which stand where inversion would. */
export const RAPPOR: MethodChoice[] = [
  {
    key: "rappor-normalize",
    name: "RAP-N",
    colour: "normalized",
    words: "RAPPOR's own way back; what falls below zero is cut off.",
  },
  {
    key: "rappor-project",
    name: "RAP-P",
    colour: "projected",
    words: "RAPPOR's own way back, then the nearest possible picture.",
  },
];
