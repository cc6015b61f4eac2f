/** The studio: its screens by the address behind the #, its navigation, its colours. */

import * as design from "./design/design.js";
import * as look from "./look/look.js";
import * as play from "./look/play.js";
import { Trouble, takeToken } from "./shared/api.js";
import { h, put } from "./shared/dom.js";
import { around, calm, coded, fail, main, onReturn, onToken, restart, started, titled } from "./shared/shell.js";
import * as wall from "./wall/wall.js";

const SCREENS = {
  design: { name: "Design", show: design.show },
  look: { name: "Look", show: look.show },
  play: { name: "Play", show: play.show },
  // For a room: reached from a survey.
  wall: { name: "Wall", show: wall.show },
};
type Screen = keyof typeof SCREENS;
const THEMES = { "": "Auto", light: "Light", dark: "Dark" };
const THEME = "confide theme";

const links = new Map<Screen, HTMLAnchorElement>();
let tidy: (() => void) | null = null;
let isFirst = true;
let isBegun = false;

/** The screen that the address names, and what follows it: `#/look/F` is look, and F. */
function route(): { screen: Screen; rest: string[] } {
  const [first = "", ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  return {
    screen: Object.hasOwn(SCREENS, first) ? (first as Screen) : started().may_administer ? "design" : "look",
    rest,
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function go(): void {
  if (!isBegun) return;
  const { screen, rest } = route();
  tidy?.();
  tidy = null;
  calm();
  titled(SCREENS[screen].name);
  put(main);
  for (const [name, link] of links) {
    link.hidden = name === "wall" || (name !== "look" && !started().may_administer);
    if (name === screen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    if (["look", "wall"].includes(screen) || started().may_administer) tidy = SCREENS[screen].show(main, rest);
    else showLimits(SCREENS[screen].name);
  } catch (error) {
    fail(error);
  }
  if (!isFirst) {
    const heading = main.querySelector<HTMLElement>("h1");
    heading?.setAttribute("tabindex", "-1");
    (heading ?? main).focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  isFirst = false;
}

/** Say what a token that only reads is for, where another is needed. */
function showLimits(name: string): void {
  put(
    main,
    h("header", {}, h("h1", {}, "Your token may look")),
    h(
      "p",
      { class: "lead" },
      "It shows surveys and what is known from their reports, and takes that along. ",
      h("a", { href: "#/look" }, "Look at the surveys"),
      ".",
    ),
    h(
      "p",
      {},
      ...coded(
        `${name} takes a token that administers: \`confide studio\` prints an address with one, and whoever runs this collector makes one with \`confide curate STORE --token administer:NAME\`.`,
      ),
    ),
  );
}

async function begin(): Promise<void> {
  try {
    await restart();
    isBegun = true;
    calm();
    go();
  } catch (error) {
    if (error instanceof Trouble && error.code === "gone")
      put(main, h("h1", {}, "confide studio"), h("p", { class: "lead" }, "Waiting for the server."));
    fail(error);
  }
}

function skipLink(): HTMLElement {
  const skip = (event: MouseEvent): void => {
    event.preventDefault();
    main.focus();
  };
  return h("a", { class: "skip", href: "#main", onclick: skip }, "Skip to what this page is about");
}

function bar(): HTMLElement {
  for (const [name, screen] of Object.entries(SCREENS) as [Screen, { name: string }][])
    links.set(name, h("a", { href: `#/${name}` }, screen.name));
  const theme = h(
    "select",
    { "aria-label": "Colours of the page", onchange: () => setTheme(theme.value) },
    ...Object.entries(THEMES).map(([value, words]) => h("option", { value, selected: value === kept() }, words)),
  );
  return h(
    "header",
    { class: "bar" },
    h("a", { class: "wordmark", href: "#/" }, "confide"),
    h("nav", { "aria-label": "Screens" }, ...links.values()),
    theme,
  );
}

function kept(): string {
  try {
    const found = localStorage.getItem(THEME) ?? "";
    return Object.hasOwn(THEMES, found) ? found : "";
  } catch {
    return "";
  }
}

function setTheme(theme: string): void {
  if (theme) document.documentElement.setAttribute("data-theme", theme);
  else document.documentElement.removeAttribute("data-theme");
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // A browser that keeps nothing still shows it.
  }
}

setTheme(kept());
takeToken();
document.body.replaceChildren(skipLink(), bar(), around.banner, main, around.spoken);
addEventListener("hashchange", () => {
  // A second address of `confide studio`, opened in this tab, brings its token along.
  if (location.hash.includes("token=")) {
    takeToken();
    void begin();
  } else go();
});
addEventListener("storage", (event) => {
  if (event.key === THEME) setTheme(kept());
});
onToken(() => void begin());
onReturn(() => {
  if (!isBegun) void begin();
});
void begin();
