/** The page of a person who takes part: the answer is blurred here, the report is shown, and nothing else is sent. */
import { ConfideError, loadSurvey, Queue, type Sent, type Survey } from "/client/confide.js";
import type { AlphabetTable } from "../shared/api.js";
import { h, put, s } from "../shared/dom.js";
import { distanceWords } from "../shared/ground.js";
import { inWords, type Place, placeOf } from "../shared/tables.js";
import { cellMap } from "./cellmap.js";
import { changesOf } from "./changed.js";
import { type Field, fieldFor } from "./fields.js";
import { alone, type Drawn, drawn, fingerprint, KEY, keep, noteRefused, refusals, secret } from "./kept.js";

/** Who may take part, as the collector says beside the survey. */
type Admission = "open" | "token" | "invited" | "closed";

const main = document.querySelector<HTMLElement>("#main")!;
const said = h("p", { class: "unseen", role: "status" });
const stage = h("section", { class: "stage" });

let survey: Survey;
let alphabet: AlphabetTable;
/** What chance does to answers, in words. */
let changes = "";
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
    return showNoSurvey(error);
  }
  queue = new Queue(survey);
  document.title = survey.title;
  put(main, ...head(), promise(), stage, said, foot());
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
  alphabet = (JSON.parse(text) as { alphabet: AlphabetTable }).alphabet;
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
  const title = isUnknown
    ? "There is no such survey here"
    : isRefused
      ? "This survey cannot be trusted"
      : "The survey cannot be reached";
  const words = isUnknown
    ? "The address is incomplete, or this collector does not know the survey. Ask for the whole address. Nothing was sent."
    : isRefused
      ? `${(error as Error).message} Nothing was sent.`
      : "There is no network, and no copy on this device. This page keeps trying.";
  document.title = title;
  put(
    main,
    h("header", {}, h("h1", {}, title)),
    h("p", { class: "lead", role: "alert" }, words),
    !isUnknown && h("button", { class: "main", onclick: () => location.reload() }, "Try again"),
  );
  if (!isUnknown && !isRefused) {
    addEventListener("online", () => location.reload());
    setTimeout(() => location.reload(), 15000);
  }
}

function head(): HTMLElement[] {
  const mark = isSimulated && h("p", { class: "mark" }, "Simulated survey");
  return [h("header", {}, mark, h("h1", {}, survey.title))];
}

// What is promised.

function promise(): HTMLElement {
  const { reports, epsilon } = survey.limits;
  const most = reports === null ? "" : ` At most ${counted(reports, "report")} of each person.`;
  const total = epsilon === null ? "" : ` At most epsilon ${epsilon} of each person in all.`;
  const also = Object.keys(survey.groups).length > 0 ? ", beside the groups that you choose" : "";
  return h(
    "section",
    { class: "promise" },
    h(
      "p",
      {},
      `Your answer stays on this device. Noise is added here, and only a blurred report is sent${also}. ${inShort(survey.promise)}${most}${total}`,
    ),
    h(
      "details",
      {},
      h("summary", {}, "The whole promise"),
      h(
        "ul",
        {},
        ...survey.promise.map((one) => h("li", {}, one)),
        alphabet.kind === "bins" &&
          h(
            "li",
            {},
            "Two ranges are as far apart as their middles. So are two people on either side of an edge, even if they are close.",
          ),
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
  const often = (odds: string): string => `at most ${odds.split(" ")[0]}% of the time`;
  if (whole)
    return `Someone who sees it, and had no idea before, guesses right between any two ${whole[3] ?? "answers"} ${often(whole[4]!)}.`;
  const pairs = found.slice(-2).map((one) => `${inMetres(one[1]!)} apart ${often(one[4]!)}`);
  return pairs.length
    ? `Someone who sees it, and had no idea before, guesses right between two answers ${pairs.join(", and between two ")}.`
    : "";
}

/** "0.5 km" as people say it: 500 m. */
function inMetres(words: string): string {
  return words.replace(/^0\.\d+ km$/, (far) => distanceWords(parseFloat(far), "km"));
}

function counted(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

function foot(): HTMLElement {
  return h(
    "footer",
    {},
    h(
      "details",
      {},
      h("summary", {}, "What this page sends and keeps"),
      h(
        "ul",
        {},
        h(
          "li",
          {},
          "Sent: the blurred report, the survey's fingerprint, the day, a random number so that it counts once",
          Object.keys(survey.groups).length > 0 && ", and the groups that you choose",
          ". No cookie, no name, nothing to anyone else.",
        ),
        h(
          "li",
          {},
          "Kept in this browser: the report until it is sent, how many you gave",
          survey.isPermanent && ", and a secret that makes your noise the same each time",
          ". Never your answer.",
        ),
        h("li", {}, "Fingerprint of the survey: ", h("code", {}, fingerprint)),
      ),
    ),
  );
}

// Which of the states this is.

/** Show where this person stands; whichever tab changed it. */
async function refresh(): Promise<void> {
  let status: { waiting: number; reports: number };
  try {
    status = await queue.status();
  } catch (error) {
    return show(
      "This browser keeps nothing",
      h(
        "p",
        {},
        `${messageOf(error)} A report must be kept until it is sent, and counted: allow this page to keep data, or leave the private window.`,
      ),
    );
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
  show(
    "This survey is closed",
    h("p", {}, "It takes no more reports. Nothing was asked of you, and nothing was sent."),
  );
}

function showForm(reports: number): void {
  const ready = h("button", { class: "main", type: "submit" }, "Blur my answer");
  const trouble = h("p", { class: "trouble", role: "alert" });
  const field = fieldFor(alphabet, survey.name, () => put(trouble));
  const groups = groupFields(() => put(trouble));
  const form = h(
    "form",
    { autocomplete: "off", novalidate: true },
    field.element,
    alphabet.kind === "bins" &&
      h("p", { class: "note" }, "A number on an edge belongs to the range that begins with it."),
    groups.element,
    codeField(),
    trouble,
    ready,
    h(
      "p",
      { class: "note" },
      "Chance changes your answer here, once. You see the report before it is sent. It can't be re-rolled: that would reveal your answer.",
    ),
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
      `You gave ${counted(reports, "report")} already. ${survey.promise.find((one) => /^(Each further|Any number)/.test(one)) ?? ""}`,
    );
  show(sentence(survey.name), again, form);
}

/** A survey's word for its values as a heading: Your age. */
function sentence(name: string): string {
  return name === "value" ? "Your answer" : `Your ${name}`;
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
      h("option", { value: "" }, "Choose…"),
      ...values.map((value) => h("option", { value }, value)),
    ),
  );
  const labels = selects.map((select, index) => h("label", {}, names[index]![0], select));
  return {
    element: h(
      "fieldset",
      { class: "groups" },
      h("legend", {}, "Sent as it is"),
      h("p", { class: "note" }, "This is not blurred. It is sent beside your report, to compare groups."),
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
  const words = admission === "invited" ? "Your invitation" : "Your token";
  return h(
    "label",
    { class: "code" },
    words,
    h(
      "small",
      {},
      "This survey is for people who were given a code. It is good for one report, and nothing links it to that report.",
    ),
    input,
  );
}

/** Draw the one report: counted before it is shown. */
async function draw(field: Field, groups: Groups, trouble: HTMLElement): Promise<void> {
  const raw = field.raw();
  const chosen = groups.chosen();
  if (raw === undefined) return put(trouble, "Choose your answer first.");
  if (chosen === null) return put(trouble, "Choose what is sent beside your answer.");
  if (codeField() && !code) return put(trouble, "Type the code that you were given.");
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
    : `This failed: ${error instanceof Error ? error.message : String(error)}`;
}

function showDrawn({ report, groups }: Drawn): void {
  const words = report === null ? "a report that was drawn earlier" : inWords(alphabet, report);
  const beside = besideOf(groups);
  const send = h("button", { class: "main", onclick: () => void confirm() }, "Send");
  show(
    "This is all that leaves",
    h(
      "dl",
      { class: "two" },
      h(
        "div",
        { class: "stays" },
        h("dt", {}, "Your answer, which stays here"),
        h(
          "dd",
          { class: answer ? "" : "unknown" },
          answer?.words ?? "not kept: only the page where you gave it knows it",
        ),
      ),
      h(
        "div",
        { class: "leaves" },
        h("dt", {}, "Your report, which is sent"),
        h("dd", {}, words),
        beside && h("dd", { class: "beside" }, `and, not blurred: ${beside}`),
      ),
    ),
    picture(report),
    h("p", { class: "why" }, whyOf(words)),
    send,
    h(
      "p",
      { class: "note" },
      "It can't be re-rolled: that would reveal your answer. If you would rather not send it, close this page: nothing was sent.",
    ),
    h(
      "details",
      {},
      h("summary", {}, "Exactly as it is sent"),
      h(
        "pre",
        {},
        JSON.stringify(
          {
            survey: fingerprint,
            batch: "a random number",
            day: "today",
            reports: [report],
            ...(beside ? { groups } : {}),
          },
          null,
          2,
        ),
      ),
    ),
  );
  put(said, `This is all that leaves: ${words}${beside ? `, and ${beside}` : ""}. It is not sent yet.`);
}

/** Why a report may differ from the answer, how often that happens, and why totals are right all the same. */
function whyOf(words: string): string {
  const lead = !answer
    ? "Chance changes reports on purpose."
    : answer.words === words
      ? "By chance, your report is the same as your answer."
      : "Your report differs from your answer on purpose: chance changed it on this device.";
  return `${lead} ${changes}, so nobody can be sure what you answered. The totals still come out right: we know how often chance changes a report, and correct for it over everyone.`;
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
  show("Sending…", h("p", {}, "The report is on its way."));
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
    return show("It could not be sent", h("p", { role: "alert" }, messageOf(error)));
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
  const words = reason
    ? `The collector said: ${reason}`
    : "The collector cannot be reached now, or this device has no network.";
  show(
    "Your report waits",
    h(
      "p",
      {},
      `${words} The report is kept on this device and sent by itself, once and no more, while this page is open or when you open it again.`,
    ),
    h("p", { class: "sent-value" }, wordsOf(drawn()?.report)),
    beside && h("p", {}, `Beside it, as it is: ${beside}.`),
    h("button", { class: "quiet", onclick: () => void deliver() }, "Try now"),
  );
}

/** The collector does not let it in: for the person to mend. */
function showBarred(reason: string): void {
  const form = h("form", { autocomplete: "off" }, codeField(), h("button", { class: "main" }, "Send again"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    keep({ ...drawn()!, ...(code ? { code } : {}) });
    void deliver();
  });
  show(
    "The collector does not let it in",
    h("p", { role: "alert" }, `${reason} Your report is kept on this device.`),
    form,
  );
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
    "Sent. Thank you.",
    h("p", { class: "sent-value" }, wordsOf(report)),
    beside && h("p", { class: "beside" }, `and, not blurred: ${beside}`),
    h("p", {}, "This is all that left your device. It counts once, and nothing links it to you."),
    againButton(),
  );
  answer = null;
}

function showDone(reports: number): void {
  show(
    "You have taken part",
    h("p", {}, `You gave ${counted(reports, "report")} to this survey from this browser.`),
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
        h(
          "p",
          { class: "note" },
          `This survey takes ${counted(most, "report")} of each person, and ${refusals().count ? "yours was drawn" : "has yours"}.`,
        ),
      );
    if (admission === "closed") return put(own, h("p", { class: "note" }, "The survey is closed by now."));
    const words = survey.promise.find((one) => /^(Each further|Any number)/.test(one)) ?? "";
    put(
      own,
      h(
        "details",
        {},
        h("summary", {}, "Answer again"),
        h(
          "p",
          { class: "note" },
          `${words} ${most === null ? "" : `${counted(most - reports, "report")} more at most.`}`,
        ),
        h("button", { class: "quiet", onclick: () => ((wantsAgain = true), void refresh()) }, "Answer again"),
      ),
    );
  });
  return own;
}

function showRefused(reason: string): void {
  const isClosed = admission === "closed" || /closed/.test(reason);
  show(
    isClosed ? "This survey is closed" : "Your report was refused",
    h(
      "p",
      { role: "alert" },
      isClosed
        ? "It closed before your report came, and takes no more. Your report was not counted."
        : `The collector said: ${reason} It was not counted, and is not sent again.`,
    ),
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
      ]);
    })
    .catch(() => undefined);
}
