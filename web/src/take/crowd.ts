/** After sending: one's own report among all that came, and the result where the survey lets people see it. */
import type { AlphabetTable, Crowd } from "../shared/api.js";
import { h, put, s } from "../shared/dom.js";
import { rowOf } from "../shared/tables.js";
import { t } from "../shared/texts.js";

/** Milliseconds between two looks, and how many there are: a page that is left open does not ask for ever. */
const EVERY = 5000;
const LOOKS = 60;
const WIDTH = 320;
const MOST_DOTS = 400;
const MOST_BARS = 200;
/** Values that are listed with their shares; of more the picture says it. */
const MOST_LISTED = 12;

/** A place that fills when the collector answers; without an answer it stays empty, for nothing hangs on it. */
export function crowdOf(fingerprint: string, alphabet: AlphabetTable, report: unknown): HTMLElement {
  const place = h("section", { class: "crowd" });
  let looks = 0;
  const look = async (): Promise<void> => {
    if (looks > 0 && !place.isConnected) return;
    const said = document.hidden
      ? null
      : await fetch(`/take/${fingerprint}/crowd`, { credentials: "omit" }).catch(() => null);
    if (said?.ok) show(place, (await said.json()) as Crowd, alphabet, report);
    if (++looks < LOOKS) setTimeout(() => void look(), EVERY);
  };
  void look();
  return place;
}

function show(place: HTMLElement, crowd: Crowd, alphabet: AlphabetTable, report: unknown): void {
  const own = report === null || report === undefined ? null : indexOf(alphabet, report);
  const { result, accepted } = crowd;
  const isOwn = report !== null && report !== undefined;
  const columns = own !== null && result?.reports && result.reports.length <= MOST_BARS ? result.reports : null;
  const about = isOwn && t(columns ? "crowd.columns" : "crowd.picture");
  put(
    place,
    h("h3", {}, t("crowd")),
    columns ? bars(columns, "noisy-bar", own) : dots(accepted, isOwn),
    h("p", {}, t("crowd.count", { n: accepted }), " ", about && h("span", { class: "note" }, about)),
    result && h("h3", {}, t("result")),
    result && result.distribution.length <= MOST_BARS && bars(result.distribution, "result-bar", null),
    result &&
      result.labels.length > MOST_LISTED &&
      h(
        "p",
        { class: "ends", "aria-hidden": "true" },
        h("span", {}, result.labels[0] ?? ""),
        h("span", {}, result.labels.at(-1) ?? ""),
      ),
    result && result.labels.length <= MOST_LISTED && shares(result),
    result && h("p", { class: "note" }, t("result.words")),
  );
}

/** Which value a report is, in the order of the shares; null where reports are no values of a line. */
function indexOf(alphabet: AlphabetTable, report: unknown): number | null {
  const row = rowOf(alphabet);
  if (!row) return null;
  if (typeof report === "number") return report - row.low;
  const index = Array.from({ length: row.size }, (_, one) => row.raw(one)).indexOf(report);
  return index < 0 ? null : index;
}

/** Shares as columns, one of them marked. */
function bars(all: number[], kind: string, own: number | null): SVGSVGElement {
  const most = Math.max(...all, 1e-9);
  const step = WIDTH / all.length;
  const columns = all.map((share, index) => {
    const height = Math.max(index === own ? 4 : 0, (64 * Math.max(0, share)) / most);
    return s("rect", {
      class: index === own ? "own-bar" : kind,
      x: index * step,
      y: 68 - height,
      width: Math.max(0.5, step - Math.min(2, step / 4)),
      height,
    });
  });
  return s("svg", { viewBox: `0 0 ${WIDTH} 70`, "aria-hidden": "true" }, ...columns);
}

/** A dot for each report, up to a number; beyond it one for several. */
function dots(people: number, hasOwn: boolean): SVGSVGElement {
  const count = Math.min(MOST_DOTS, people);
  const columns = Math.max(8, Math.ceil(Math.sqrt(count * 4)));
  const step = WIDTH / columns;
  const rows = Math.max(1, Math.ceil(count / columns));
  const own = Math.floor(count * 0.62);
  const all = Array.from({ length: count }, (_, index) =>
    s("circle", {
      class: hasOwn && index === own ? "own-dot" : "noisy-dot",
      cx: ((index % columns) + 0.5) * step,
      cy: (Math.floor(index / columns) + 0.5) * step,
      r: Math.min(6, step * (hasOwn && index === own ? 0.5 : 0.34)),
    }),
  );
  return s("svg", { viewBox: `0 0 ${WIDTH} ${rows * step}`, "aria-hidden": "true" }, ...all);
}

function shares({ labels, distribution }: NonNullable<Crowd["result"]>): HTMLElement {
  return h(
    "ul",
    { class: "shares" },
    ...labels.map((label, index) =>
      h("li", {}, h("span", {}, label), h("strong", {}, `${Math.round(100 * (distribution[index] ?? 0))}%`)),
    ),
  );
}
