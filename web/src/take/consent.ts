/** What people are told, as a text to keep or to put into a form. */
import { h, put } from "../shared/dom.js";
import { t } from "../shared/texts.js";

export function consent(title: string, sentences: string[]): HTMLElement {
  const words = [title, "", ...sentences].join("\n");
  const said = h("p", { class: "note", role: "status" });
  const text = h("pre", { class: "consent", tabindex: 0, "aria-label": t("consent") }, words);
  const copy = (): void => {
    // Pages without https have no clipboard.
    const done = "clipboard" in navigator ? navigator.clipboard.writeText(words) : Promise.reject(new Error());
    done.then(
      () => put(said, t("copied")),
      () => {
        getSelection()?.selectAllChildren(text);
        put(said, t("copy.not"));
      },
    );
  };
  return h(
    "details",
    {},
    h("summary", {}, t("consent")),
    text,
    h("button", { type: "button", class: "quiet", onclick: copy }, t("copy")),
    said,
  );
}
