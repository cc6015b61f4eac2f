/** What stands around every screen: banners, the token, what the server said at the start, words said aloud. */
import { ask, type Start, setToken, Trouble } from "./api.js";
import { h, put } from "./dom.js";

/** Announced to screen readers, seen by nobody. */
const spoken = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
const banner = h("div", { class: "banner-place" });
/** Where screens and the shell's own forms are shown. */
export const main = h("main", { id: "main", tabindex: -1 });
export const around = { spoken, banner };

let begun: Start | null = null;
/** The banner that says that the server is gone, while it is. */
let waiting: Element | null = null;
const returns = new Set<() => void>();

/** What the server said when the studio began, or was asked again. */
export function started(): Start {
  if (!begun) throw new Error("the studio has not begun");
  return begun;
}

/** Ask again: surveys come and go. */
export async function restart(): Promise<Start> {
  begun = await ask<Start>("/studio/v1/start");
  return begun;
}

/** Call this when the server is back after it was gone; the function returned ends that. */
export function onReturn(task: () => void): () => void {
  returns.add(task);
  return () => returns.delete(task);
}

/** Show what went wrong, and what to do. A screen gives every error it does not know here. */
export function fail(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (!(error instanceof Trouble)) {
    show(
      "This page met an error of its own",
      error instanceof Error ? error.message : String(error),
      "Reload it; nothing that was sent is lost.",
      again(),
    );
    throw error;
  }
  if (error.code === "gone") return await_return();
  if (error.code === "no-token" || error.code === "bad-token")
    return begun ? expired(error.message) : askToken(error.code === "no-token" ? "" : error.message);
  if (error.code === "busy" || error.code === "429") {
    // Only itself: what else is told meanwhile stays.
    setTimeout(show("The server is busy", error.message, ""), Math.max(2, error.retryAfter) * 1000);
    return;
  }
  const close = show(
    "That did not work",
    error.message,
    "",
    h("button", { type: "button", onclick: () => close() }, "Close"),
  );
}

/** Take all banners away, but for the one that a server is waited for with. */
export function calm(): void {
  for (const one of [...banner.children]) if (one !== waiting) one.remove();
}

/** A token that was good is not any more: what is on the page stays, until somebody brings another. */
function expired(message: string): void {
  const other = h("button", { type: "button", onclick: () => askToken("") }, "Type a token in");
  show(
    "This page's token is not good any more",
    message,
    "If the studio was started anew, open the address that it printed, in this tab: what you designed is kept.",
    other,
  );
}

/** Say something to those who listen, such as that a result has come. */
export function say(words: string): void {
  spoken.textContent = "";
  // A region that is set to the words it has is not read again.
  setTimeout(() => (spoken.textContent = words), 30);
}

/** Name the page: "Look, ages · confide". */
export function titled(words: string): void {
  document.title = words ? `${words} · confide` : "confide studio";
}

/** Words with what stands between backticks as code. */
export function coded(words: string): (HTMLElement | string)[] {
  return words.split("`").map((part, index) => (index % 2 === 1 ? h("code", {}, part) : part));
}

/** Show a banner below those that are there, in place of one with the same heading; the function returned takes it away. */
function show(heading: string, message: string, cure: string, ...actions: HTMLElement[]): () => void {
  const own = h(
    "div",
    { class: "banner", role: "alert", "data-heading": heading },
    h("p", {}, h("strong", {}, `${heading}. `), ...coded(message), cure ? ` ${cure}` : ""),
    ...actions,
  );
  for (const one of [...banner.children]) if (one.getAttribute("data-heading") === heading) one.remove();
  banner.append(own);
  return () => own.remove();
}

function again(): HTMLElement {
  return h("button", { type: "button", onclick: () => location.reload() }, "Reload");
}

/** Say that the server is gone, and ask until it is back: nothing on the page is lost meanwhile. */
function await_return(): void {
  if (waiting) return;
  const gone = show(
    "The server is gone",
    "Start it again with `confide serve`, and this page goes on by itself; or with `confide studio`, and open the address that it prints, in this tab.",
    "What is on this page stays.",
  );
  waiting = banner.lastElementChild;
  const back = (): void => {
    waiting = null;
    gone();
  };
  const look = async (): Promise<void> => {
    try {
      await restart();
    } catch (error) {
      if (error instanceof Trouble && error.code === "gone") {
        setTimeout(() => void look(), 1500);
        return;
      }
      // It is back, and says something else: a studio that is started anew has another token.
      back();
      return fail(error);
    }
    back();
    say("The server is back.");
    for (const task of returns) task();
  };
  setTimeout(() => void look(), 1000);
}

let retry: (() => void) | null = null;

/** What begins the studio again, once there is a token. */
export function onToken(task: () => void): void {
  retry = task;
}

/** Ask for a token, in place of what was shown: without one nothing can be asked. */
export function askToken(wrong: string): void {
  titled("Token");
  const field = h("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    "aria-describedby": "token-help",
  });
  const enter = (event: SubmitEvent): void => {
    event.preventDefault();
    setToken(field.value.trim());
    retry?.();
  };
  put(
    main,
    h("header", {}, h("h1", { tabindex: -1 }, "This studio needs a token")),
    wrong && h("p", { class: "trouble", role: "alert" }, wrong),
    h(
      "form",
      { class: "token", onsubmit: enter },
      h("label", { for: "token" }, "Token"),
      h("div", { class: "beside" }, field, h("button", { class: "main", type: "submit" }, "Open")),
      h(
        "p",
        { class: "note", id: "token-help" },
        ...coded(
          "`confide studio` prints an address with a token behind the #; open that. Of a collector that runs elsewhere, `confide curate STORE --token read:NAME` makes one to look with. It is kept in this tab alone.",
        ),
      ),
    ),
  );
  field.focus();
}

/** A button that copies words, and says that it did. */
export function copyButton(words: () => string, name = "Copy"): HTMLButtonElement {
  const button = h("button", { type: "button", class: "quiet" }, name);
  button.addEventListener("click", () => {
    navigator.clipboard.writeText(words()).then(
      () => {
        button.textContent = "Copied";
        say("Copied.");
        setTimeout(() => (button.textContent = name), 1500);
      },
      () => say("This browser does not let the page copy; mark the words and copy them."),
    );
  });
  return button;
}

/** How far long work is, with a button that stops it. `tell` takes what `work` tells. */
export function progressBar(
  words: string,
  stop: () => void,
): { element: HTMLElement; tell: (progress: { done: number; of: number; words: string }) => void } {
  const bar = h("progress", { max: 1, "aria-label": words });
  const said = h("span", {}, words);
  const element = h(
    "div",
    { class: "progress" },
    said,
    bar,
    h("button", { type: "button", class: "quiet", onclick: stop }, "Stop"),
  );
  return {
    element,
    tell: (progress) => {
      if (progress.words) said.textContent = progress.words;
      if (progress.of > 0) bar.value = progress.done / progress.of;
    },
  };
}
