/** Look: the surveys of this collector, and one of them live as reports come in. */
import { ask, type SurveySummary, Trouble } from "../shared/api.js";
import { h, put } from "../shared/dom.js";
import { fail, onReturn, restart, started, titled } from "../shared/shell.js";
import { Live } from "./live.js";
import { Shown } from "./shown.js";
import { marksOf } from "./takealong.js";

const LIST_EVERY = 2000;

export function show(main: HTMLElement, route: string[]): () => void {
  const [fingerprint] = route;
  return fingerprint ? showOne(main, fingerprint) : showList(main);
}

function showList(main: HTMLElement): () => void {
  const list = h("ul", { class: "surveys" });
  const more = started().may_administer
    ? h("p", { class: "note" }, "Open one, or ", h("a", { href: "#/design" }, "design another"), ".")
    : null;
  let timer = 0;
  let isOver = false;
  const draw = (surveys: SurveySummary[]): void => {
    more?.toggleAttribute("hidden", !surveys.length);
    if (!surveys.length)
      put(list, h("li", { class: "note" }, "There is no survey yet. Design one: it appears here when it is started."));
    else if (list.contains(document.activeElement)) refreshCounts(list, surveys);
    else put(list, ...surveys.map(entry));
  };
  const again = async (): Promise<void> => {
    try {
      draw((await restart()).surveys);
    } catch (error) {
      fail(error);
    }
    if (!isOver) timer = window.setTimeout(() => void again(), LIST_EVERY);
  };
  put(
    main,
    h(
      "header",
      {},
      h("h1", {}, "Look"),
      h("p", { class: "lead" }, "The results of each survey, live as reports come in."),
    ),
    list,
    more,
  );
  draw(started().surveys);
  void again();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

function entry(one: SurveySummary): HTMLElement {
  return h(
    "li",
    {},
    h(
      "a",
      { href: `#/look/${encodeURIComponent(one.survey)}`, "data-survey": one.survey },
      h("span", { class: "survey-title" }, one.title),
      ...marksOf(one),
      h(
        "span",
        { class: "survey-count" },
        h("strong", {}, one.accepted.toLocaleString("en")),
        one.accepted === 1 ? " report" : " reports",
      ),
    ),
  );
}

/** Only the numbers, so that whoever goes through the list by keyboard does not lose the place. */
function refreshCounts(list: HTMLElement, surveys: SurveySummary[]): void {
  for (const one of surveys) {
    const found = list.querySelector(`[data-survey="${CSS.escape(one.survey)}"] strong`);
    if (found) found.textContent = one.accepted.toLocaleString("en");
  }
}

interface Watched {
  version: number;
  accepted: number;
  rejected: number;
  is_closed: boolean;
}

function showOne(main: HTMLElement, fingerprint: string): () => void {
  const summary = started().surveys.find((one) => one.survey === fingerprint);
  if (!summary) return showUnknown(main, fingerprint);
  titled(`Look, ${summary.title}`);
  const shown = new Shown(summary);
  const live = new Live(fingerprint, shown);
  shown.wanted = (wanted, isNow = true) => (isNow ? live.want(wanted) : live.drop(wanted));
  put(main, shown.element);
  let timer = 0;
  let isOver = false;
  const watch = async (): Promise<void> => {
    try {
      const found = await ask<Watched>(`/studio/v1/watch/${encodeURIComponent(fingerprint)}`);
      if (isOver) return;
      shown.count(found);
      live.tell(found.version, found.accepted);
    } catch (error) {
      if (isOver) return;
      fail(error);
      if (error instanceof Trouble && error.code === "gone") return; // begun again when it is back
    }
    if (!isOver) timer = window.setTimeout(() => void watch(), document.hidden ? 5000 : 1000);
  };
  const forget = onReturn(() => {
    clearTimeout(timer);
    live.again();
    void watch();
  });
  void watch();
  return () => {
    isOver = true;
    clearTimeout(timer);
    forget();
    live.end();
    shown.end();
  };
}

function showUnknown(main: HTMLElement, fingerprint: string): () => void {
  put(
    main,
    h(
      "header",
      {},
      h("h1", {}, "There is no such survey here"),
      h(
        "p",
        { class: "lead" },
        "It may be in another store, or the address is incomplete: ",
        h("code", {}, fingerprint.slice(0, 64)),
        ".",
      ),
    ),
    h("p", {}, h("a", { href: "#/look" }, "All surveys of this collector")),
  );
  // One that was just started is known to the server before it is known here.
  void restart().then((start) => {
    if (start.surveys.some((one) => one.survey === fingerprint)) location.reload();
  }, fail);
  return () => undefined;
}
