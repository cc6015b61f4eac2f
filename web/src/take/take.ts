/** The page of a person who takes part: the answer is blurred here, the report is shown, and nothing else is sent. */
import { ConfideError, loadSurvey, Queue, type Sent, type Survey } from "/client/confide.js";
import type { AlphabetTable } from "../shared/api.js";
import { h, put, s } from "../shared/dom.js";
import { distanceWords } from "../shared/ground.js";
import { inWords, type Place, placeOf, textOf, withUnit } from "../shared/tables.js";
import { language, speak, t } from "../shared/texts.js";
import { cellMap } from "./cellmap.js";
import { type Changes, changesOf, explanation } from "./changed.js";
import { consent } from "./consent.js";
import { crowdOf } from "./crowd.js";
import { type Field, fieldFor } from "./fields.js";
import { alone, type Drawn, drawn, fingerprint, KEY, keep, noteRefused, refusals, secret } from "./kept.js";

/** Who may take part, as the collector says beside the survey. */
type Admission = "open" | "token" | "invited" | "closed";

const main = document.querySelector<HTMLElement>("#main")!;
const said = h("p", { class: "unseen", role: "status" });
const stage = h("section", { class: "stage" });

let survey: Survey;
let alphabet: AlphabetTable;
/** What chance does to answers. */
let changes: Changes;
/** Whether whoever takes part may see the result. */
let isPublic = false;
let queue: Queue;
let admission: Admission = "open";
let isSimulated = false;
let code = "";
/** The answer as the person gave it: in this page's memory, and nowhere else. */
let answer: { words: string; place: Place | null } | null = null;
let refusal = "";
let wantsAgain = false;
let pause = 2;
let timer = 0;

void begin();

async function begin(): Promise<void> {
  takeCode();
  try {
    if (!/^[0-9a-f]{32}$/.test(fingerprint)) throw new ConfideError("survey", "unknown");
    await read();
  } catch (error) {
    await speak(navigator.language); // that of a survey is not known
    return showNoSurvey(error);
  }
  queue = new Queue(survey);
  document.title = survey.title;
  put(main, ...head(), explanation(changes, isPublic), promise(), stage, said, foot());
  addEventListener("storage", ({ key }) => key === KEY && void refresh());
  addEventListener("online", () => void deliver());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && void deliver());
  keepOffline();
  await refresh();
  await deliver();
}

/** An invitation that came behind the #, which no server sees; it leaves the address at once. */
function takeCode(): void {
  code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  if (location.hash) history.replaceState(null, "", location.pathname);
}

async function read(): Promise<void> {
  const found = await fetch(`/v1/surveys/${encodeURIComponent(fingerprint)}`, { credentials: "omit" });
  if (!found.ok)
    throw new ConfideError("survey", found.status === 404 ? "unknown" : `The collector answered ${found.status}.`);
  const text = await found.text();
  survey = loadSurvey(text, pinIn(text));
  // The address says which survey this is; another one in its place is refused.
  if (survey.fingerprint !== fingerprint)
    throw new ConfideError("pin", `The address names ${fingerprint}; the collector sent ${survey.fingerprint}.`);
  const document = JSON.parse(text) as { alphabet: AlphabetTable; language?: string; results?: string };
  alphabet = document.alphabet;
  isPublic = document.results === "public";
  await speak(document.language ?? "en");
  changes = changesOf(text);
  admission = (found.headers.get("confide-admission") ?? "open") as Admission;
  isSimulated = found.headers.get("confide-simulated") === "true";
}

/** The survey as it came: its tables of weights are believed, for they come from who gave this page, and with it all that blurs. */
function pinIn(text: string): { fingerprint: string } | undefined {
  try {
    return { fingerprint: String(JSON.parse(text).fingerprint) };
  } catch {
    return undefined; // the client says what is wrong with it
  }
}

function showNoSurvey(error: unknown): void {
  const isUnknown = error instanceof ConfideError && error.message === "unknown";
  const isRefused = error instanceof ConfideError && !isUnknown;
  const title = isUnknown ? t("none.title") : isRefused ? t("refused.title") : t("away.title");
  const words = isUnknown
    ? t("none.words")
    : isRefused
      ? `${(error as Error).message} ${t("nothing")}`
      : t("away.words");
  document.title = title;
  put(
    main,
    h("header", {}, h("h1", {}, title)),
    h("p", { class: "lead", role: "alert" }, words),
    !isUnknown && h("button", { class: "main", onclick: () => location.reload() }, t("again.try")),
  );
  if (!isUnknown && !isRefused) {
    addEventListener("online", () => location.reload());
    setTimeout(() => location.reload(), 15000);
  }
}

function head(): HTMLElement[] {
  const mark = isSimulated && h("p", { class: "mark" }, t("simulated"));
  return [h("header", {}, mark, h("h1", {}, survey.title))];
}

// What is promised.

/** What is promised, in a few sentences. */
function promised(): string[] {
  const { reports, epsilon } = survey.limits;
  return [
    t(Object.keys(survey.groups).length > 0 ? "stays.groups" : "stays"),
    inShort(survey.promise),
    reports === null ? "" : t("most", { reports: counted(reports) }),
    epsilon === null ? "" : t("most.epsilon", { epsilon: String(epsilon) }),
  ].filter(Boolean);
}

function promise(): HTMLElement {
  return h(
    "section",
    { class: "promise" },
    h("p", {}, promised().join(" ")),
    h(
      "details",
      {},
      h("summary", {}, t("whole")),
      h(
        "ul",
        // The client says it in English, whatever the survey speaks.
        { lang: "en" },
        ...survey.promise.map((one) => h("li", {}, one)),
        alphabet.kind === "bins" && h("li", {}, t("edges")),
      ),
    ),
  );
}

const ODDS =
  /^(?:.*: |Together )?(?:Two values (.*) apart|Any two (values)|any two (people)): even odds become (.*) at most\.$/;

/** The promise in one sentence: of people as a whole where there are several attributes, else near and far. */
function inShort(sentences: string[]): string {
  const found = sentences.map((one) => ODDS.exec(one)).filter((one) => one !== null);
  const whole = found.find((one) => one[3] ?? one[2]);
  const often = (odds: string): string => odds.split(" ")[0] ?? "";
  if (whole) return t(whole[3] ? "guess.people" : "guess.answers", { percent: often(whole[4]!) });
  const [near, far] = found.slice(-2).map((one) => ({ apart: inUnits(one[1]!), percent: often(one[4]!) }));
  if (!near) return "";
  return far ? t("guess.both", { ...near, other: far.apart, more: far.percent }) : t("guess.apart", near);
}

/** "0.5 km" as people say it: 500 m; and a unit as the survey writes it, where the client gave it an English plural. */
function inUnits(words: string): string {
  const metres = words.replace(/^0\.\d+ km$/, (far) => distanceWords(parseFloat(far), "km"));
  const unit = textOf(alphabet, "unit", "");
  return unit && metres.endsWith(` ${unit}s`) ? withUnit(alphabet, metres.slice(0, -unit.length - 2)) : metres;
}

function counted(reports: number): string {
  return t("reports", { n: reports });
}

function foot(): HTMLElement {
  return h(
    "footer",
    {},
    h(
      "details",
      {},
      h("summary", {}, t("keeps")),
      h(
        "ul",
        {},
        h("li", {}, t(Object.keys(survey.groups).length > 0 ? "sent.groups" : "sent.what")),
        h("li", {}, t(survey.isPermanent ? "kept.secret" : "kept")),
        h("li", {}, `${t("fingerprint")} `, h("code", {}, fingerprint)),
      ),
    ),
    consent(survey.title, [
      changes.explained,
      changes.nobody,
      ...promised(),
      t(Object.keys(survey.groups).length > 0 ? "sent.groups" : "sent.what"),
      t(isPublic ? "explain.public" : "explain.curator"),
      `${t("fingerprint")} ${fingerprint}`,
    ]),
  );
}

// Which of the states this is.

/** Show where this person stands; whichever tab changed it. */
async function refresh(): Promise<void> {
  let status: { waiting: number; reports: number };
  try {
    status = await queue.status();
  } catch (error) {
    return show(t("keepless"), h("p", {}, `${messageOf(error)} ${t("keepless.words")}`));
  }
  let record = drawn();
  if (record && !status.waiting) keep((record = null)); // sent by another tab
  // Drawn by a page that ended before it could be shown: it waits for Send all the same.
  if (!record && status.waiting) record = { report: null, groups: {}, isConfirmed: false };
  if (record) return record.isConfirmed ? showWaiting("") : showDrawn(record);
  // What was refused is in the ledger, for it was drawn, and yet nobody has it.
  const { count, words } = refusals();
  const given = Math.max(0, status.reports - count);
  if (refusal || (count > 0 && given === 0 && status.reports > 0 && !wantsAgain)) return showRefused(refusal || words);
  if (given > 0 && !wantsAgain) return showDone(given);
  if (admission === "closed") return showClosed();
  showForm(status.reports);
}

function show(title: string, ...children: (HTMLElement | string | false | null)[]): void {
  put(stage, h("h2", { tabindex: -1 }, title), ...children);
  put(said, title);
}

function showClosed(): void {
  show(t("closed"), h("p", {}, t("closed.words")));
}

function showForm(reports: number): void {
  const ready = h("button", { class: "main", type: "submit" }, t("blur"));
  const trouble = h("p", { class: "trouble", role: "alert" });
  const field = fieldFor(alphabet, survey.name, () => put(trouble));
  const groups = groupFields(() => put(trouble));
  const form = h(
    "form",
    { autocomplete: "off", novalidate: true },
    field.element,
    alphabet.kind === "bins" && h("p", { class: "note" }, t("edge")),
    groups.element,
    codeField(),
    trouble,
    ready,
    h("p", { class: "note" }, t("once")),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void draw(field, groups, trouble);
  });
  const again =
    reports > 0 &&
    h(
      "p",
      { class: "note" },
      `${t("gave", { reports: counted(reports) })} `,
      h("span", { lang: "en" }, furtherWords()),
    );
  show(sentence(survey.name), again, form);
}

/** A survey's word for its values as a heading: Your age. */
function sentence(name: string): string {
  return name === "value" ? t("your.answer") : t("your", { name });
}

interface Groups {
  element: HTMLElement | null;
  chosen(): Record<string, string> | null;
}

function groupFields(changed: () => void): Groups {
  const names = Object.entries(survey.groups);
  if (!names.length) return { element: null, chosen: () => ({}) };
  const selects = names.map(([name, values]) =>
    h(
      "select",
      { autocomplete: "off", onchange: changed, "data-name": name },
      h("option", { value: "" }, t("choose")),
      ...values.map((value) => h("option", { value }, value)),
    ),
  );
  const labels = selects.map((select, index) => h("label", {}, names[index]![0], select));
  return {
    element: h(
      "fieldset",
      { class: "groups" },
      h("legend", {}, t("as.is")),
      h("p", { class: "note" }, t("as.is.words")),
      ...labels,
    ),
    chosen: () =>
      selects.every((one) => one.value)
        ? Object.fromEntries(selects.map((one, index) => [names[index]![0], one.value]))
        : null,
  };
}

function codeField(): HTMLElement | null {
  if (admission !== "invited" && admission !== "token") return null;
  const input = h("input", {
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
    value: code,
    required: true,
  });
  input.addEventListener("input", () => (code = input.value.trim()));
  const words = t(admission === "invited" ? "code.invited" : "code.token");
  return h("label", { class: "code" }, words, h("small", {}, t("code.words")), input);
}

/** Draw the one report: counted before it is shown. */
async function draw(field: Field, groups: Groups, trouble: HTMLElement): Promise<void> {
  const raw = field.raw();
  const chosen = groups.chosen();
  if (raw === undefined) return put(trouble, t("first.answer"));
  if (chosen === null) return put(trouble, t("first.groups"));
  if (codeField() && !code) return put(trouble, t("first.code"));
  try {
    await alone(async () => {
      if (drawn()) return; // another tab was first
      askToKeep();
      const value = survey.take(raw);
      const report = survey.blur(value, survey.isPermanent ? { permanent: secret() } : {});
      await queue.add(report, chosen);
      keep({ report: report.data, groups: chosen, isConfirmed: false, ...(code ? { code } : {}) });
      answer = { words: field.words(), place: field.place() };
      wantsAgain = false;
    });
    await refresh();
    stage.querySelector("h2")?.focus();
  } catch (error) {
    put(trouble, messageOf(error));
  }
}

/** Ask the browser not to throw away the ledger and the secret, where something hangs on them. */
function askToKeep(): void {
  const { reports, epsilon } = survey.limits;
  if ((reports ?? epsilon ?? survey.isPermanent) && "storage" in navigator)
    void navigator.storage.persist().catch(() => undefined);
}

function messageOf(error: unknown): string {
  return error instanceof ConfideError
    ? error.message
    : `${t("failed")} ${error instanceof Error ? error.message : String(error)}`;
}

function showDrawn({ report, groups }: Drawn): void {
  const words = report === null ? t("earlier") : inWords(alphabet, report);
  const beside = besideOf(groups);
  const send = h("button", { class: "main", onclick: () => void confirm() }, t("send"));
  show(
    t("leaves"),
    h(
      "dl",
      { class: "two" },
      h(
        "div",
        { class: "stays" },
        h("dt", {}, t("own")),
        h("dd", { class: answer ? "" : "unknown" }, answer?.words ?? t("own.unknown")),
      ),
      h(
        "div",
        { class: "leaves" },
        h("dt", {}, t("report")),
        h("dd", {}, words),
        beside && h("dd", { class: "beside" }, t("beside", { groups: beside })),
      ),
    ),
    picture(report),
    h("p", { class: "why" }, whyOf(words)),
    send,
    h("p", { class: "note" }, t("mind")),
    h(
      "details",
      {},
      h("summary", {}, t("exactly")),
      h(
        "pre",
        {},
        JSON.stringify(
          {
            survey: fingerprint,
            batch: t("exactly.number"),
            day: t("exactly.day"),
            reports: [report],
            ...(beside ? { groups } : {}),
          },
          null,
          2,
        ),
      ),
    ),
  );
  put(said, `${t("leaves")}: ${words}${beside ? `, ${t("beside", { groups: beside })}` : ""}. ${t("leaves.not.yet")}`);
}

/** Why a report may differ from the answer, how often that happens, and why totals are right all the same. */
function whyOf(words: string): string {
  const lead = !answer ? t("why.lost") : answer.words === words ? t("why.same") : t("why.differs");
  return `${lead} ${t("why.sure", { changes: changes.words })} ${t("why.totals")}`;
}

/** Answer and report where they lie, on a line or a map. */
function picture(report: unknown): HTMLElement | null {
  const there = placeOf(alphabet, report);
  if (!there) return null;
  const map = alphabet.kind === "grid" || alphabet.kind === "places" ? cellMap(alphabet) : null;
  const at = (place: Place): { cx: number; cy: number } => map?.point(place) ?? { cx: 12 + place[0] * 296, cy: 22 };
  const own = answer?.place ?? null;
  const svg =
    map?.svg ?? s("svg", { viewBox: "0 0 320 44" }, s("line", { class: "track", x1: 12, x2: 308, y1: 22, y2: 22 }));
  if (own)
    svg.append(
      s("line", { class: "moved", x1: at(own).cx, y1: at(own).cy, x2: at(there).cx, y2: at(there).cy }),
      s("circle", { class: "own", r: 7, ...at(own) }),
    );
  svg.append(s("circle", { class: "noisy", r: 7, ...at(there) }));
  return h("div", { class: map ? "where map" : "where", "aria-hidden": "true" }, svg);
}

async function confirm(): Promise<void> {
  const record = drawn();
  keep({ ...(record ?? { report: null, groups: {} }), isConfirmed: true, ...(code ? { code } : {}) });
  showSending();
  pause = 2;
  await deliver();
}

function showSending(): void {
  show(t("sending"), h("p", {}, t("sending.words")));
}

/** Send what was confirmed, and show what became of it; tried again by itself. */
async function deliver(): Promise<void> {
  clearTimeout(timer);
  const record = drawn();
  if (!record?.isConfirmed) return;
  const given = record.code ?? code;
  let result: Sent;
  try {
    // Two tabs may send at once: the collector counts a batch once.
    result = await queue.send(
      location.origin,
      given ? (admission === "token" ? { token: given } : { invitation: given }) : {},
    );
  } catch (error) {
    return show(t("unsent"), h("p", { role: "alert" }, messageOf(error)));
  }
  if (result.refused.length) await noteRefusal(result.refused[0]!);
  if (result.left) return showHeld(result);
  keep(null);
  if (result.sent) return showSent(record);
  await refresh();
}

async function noteRefusal(words: string): Promise<void> {
  refusal = words;
  noteRefused(words);
  await read().catch(() => undefined); // whether it is closed by now
}

function showHeld({ reason = "", retryAfter }: Sent): void {
  if (reason && reason !== "offline" && retryAfter === undefined) return showBarred(reason);
  showWaiting(reason === "offline" ? "" : reason);
  pause = Math.min(60, pause * 2);
  timer = window.setTimeout(() => void deliver(), 1000 * Math.max(pause, retryAfter ?? 0));
}

function showWaiting(reason: string): void {
  const beside = besideOf(drawn()?.groups ?? {});
  const words = reason ? t("said", { reason }) : t("offline");
  show(
    t("waits"),
    h("p", {}, `${words} ${t("waits.words")}`),
    h("p", { class: "sent-value" }, wordsOf(drawn()?.report)),
    beside && h("p", {}, t("beside", { groups: beside })),
    h("button", { class: "quiet", onclick: () => void deliver() }, t("now")),
  );
}

/** The collector does not let it in: for the person to mend. */
function showBarred(reason: string): void {
  const form = h("form", { autocomplete: "off" }, codeField(), h("button", { class: "main" }, t("send.again")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    keep({ ...drawn()!, ...(code ? { code } : {}) });
    void deliver();
  });
  show(t("barred"), h("p", { role: "alert" }, `${reason} ${t("barred.words")}`), form);
}

/** What goes beside a report as it is. */
function besideOf(groups: Record<string, string>): string {
  return Object.entries(groups)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ");
}

function wordsOf(report: unknown): string {
  return report === null || report === undefined ? "" : inWords(alphabet, report);
}

function showSent({ report, groups }: Drawn): void {
  refusal = "";
  const beside = besideOf(groups);
  show(
    t("sent"),
    h("p", { class: "sent-value" }, wordsOf(report)),
    beside && h("p", { class: "beside" }, t("beside", { groups: beside })),
    h("p", {}, t("sent.all")),
    crowdOf(fingerprint, alphabet, report),
    againButton(),
  );
  answer = null;
}

function showDone(reports: number): void {
  show(
    t("done"),
    h("p", {}, t("done.words", { reports: counted(reports) })),
    crowdOf(fingerprint, alphabet, null),
    againButton(),
  );
}

/** Another report, where the survey's limits leave room for one; they are held by the ledger when it is drawn. */
function againButton(): HTMLElement {
  const { reports: most } = survey.limits;
  const own = h("div", { class: "again" });
  void queue.status().then(({ reports }) => {
    if (most !== null && reports >= most)
      return put(
        own,
        h("p", { class: "note" }, t(refusals().count ? "takes.drawn" : "takes", { reports: counted(most) })),
      );
    if (admission === "closed") return put(own, h("p", { class: "note" }, t("closed.now")));
    put(
      own,
      h(
        "details",
        {},
        h("summary", {}, t("again")),
        h(
          "p",
          { class: "note" },
          h("span", { lang: "en" }, furtherWords()),
          most === null ? "" : ` ${t("again.more", { reports: counted(most - reports) })}`,
        ),
        h("button", { class: "quiet", onclick: () => ((wantsAgain = true), void refresh()) }, t("again")),
      ),
    );
  });
  return own;
}

/** What another report would tell, as the client says it. */
function furtherWords(): string {
  return survey.promise.find((one) => /^(Each further|Any number)/.test(one)) ?? "";
}

function showRefused(reason: string): void {
  const isClosed = admission === "closed" || /closed/.test(reason);
  show(
    t(isClosed ? "closed" : "rejected"),
    h("p", { role: "alert" }, isClosed ? t("closed.late") : `${t("said", { reason })} ${t("rejected.words")}`),
    !isClosed && againButton(),
  );
  refusal = "";
}

/** Page, client and survey are kept for the time without a network; the service worker asks the network first. */
function keepOffline(): void {
  if (!("serviceWorker" in navigator)) return; // no https: then it works with a network alone
  navigator.serviceWorker
    .register("/take/offline.js", { scope: "/take/" })
    .then(async () => {
      const cache = await caches.open("confide take");
      await cache.addAll([
        location.pathname,
        "/take/take.js",
        "/take/take.css",
        "/client/confide.js",
        `/v1/surveys/${fingerprint}`,
        ...(language() === "en" ? [] : [`/take/${language().split("-")[0]!.toLowerCase()}.json`]),
      ]);
    })
    .catch(() => undefined);
}
