/** Drop a file: it is read in this tab, and a survey is proposed from what many people share. */
import { ask, type Draft, type Proposed, Trouble } from "../shared/api.js";
import { h, put } from "../shared/dom.js";
import { type Profile, profileOf } from "./profiles.js";

/** A place to drop a file of values, and what is said of it; told of the draft that is proposed. */
export function dropping(take: (draft: Draft) => void): HTMLElement {
  const said = h("div", { class: "dropped", role: "status" });
  const input = h("input", {
    id: "dropped-file",
    type: "file",
    accept: ".csv,.tsv,.txt",
    onchange: () => void look(input.files?.[0]),
  });
  const place = h(
    "section",
    {
      class: "drop",
      ondragover: (event) => {
        event.preventDefault();
        place.classList.add("over");
      },
      ondragleave: () => place.classList.remove("over"),
      ondrop: (event) => {
        event.preventDefault();
        place.classList.remove("over");
        void look(event.dataTransfer?.files[0]);
      },
    },
    h("label", { for: "dropped-file" }, "Begin from a file: drop a CSV here, or choose it"),
    input,
    h(
      "p",
      { class: "note" },
      "The file is read in this tab and never uploaded. The studio is told counts, round numbers, and words that ten people or more share.",
    ),
    said,
  );
  let latest = 0;

  async function look(file: File | undefined): Promise<void> {
    if (!file) return;
    const own = ++latest;
    put(said, h("p", {}, `Looking at ${file.name} …`));
    try {
      const profile = await profileOf(file);
      if (own === latest) await propose(file.name, profile, null, own);
    } catch (error) {
      if (own === latest) fail(error);
    }
    input.value = "";
  }

  async function propose(name: string, profile: Profile, columns: string[] | null, own: number): Promise<void> {
    const found = await ask<Proposed>("/studio/v1/proposal", { profile, columns });
    if (own !== latest) return;
    const chosen = found.columns.join(" and ");
    const select = h(
      "select",
      {
        id: "dropped-column",
        onchange: () => {
          const again = ++latest;
          propose(name, profile, found.others[select.selectedIndex]!, again).catch((error: unknown) => fail(error));
        },
      },
      ...found.others.map((one) => {
        const words = one.join(" and ");
        return h("option", { value: words, selected: words === chosen }, words);
      }),
    );
    const rows = profile.rows.toLocaleString("en");
    put(
      said,
      h(
        "p",
        {},
        `${name}: ${rows} rows${profile.is_sample ? ", a sample spread evenly" : ""}. Below is a survey for it.`,
      ),
      h("label", { for: "dropped-column" }, "Column"),
      select,
      ...found.facts.map((words) => h("p", { class: "note" }, words)),
      found.left_out.length > 0 &&
        h(
          "details",
          {},
          h("summary", {}, `${found.left_out.length} columns are left out`),
          h(
            "ul",
            {},
            ...found.left_out.slice(0, 20).map((one) => h("li", {}, `${one.name || "(no name)"}: ${one.why}`)),
          ),
        ),
    );
    take(found.draft);
  }

  function fail(error: unknown): void {
    if (!(error instanceof Trouble) && !(error instanceof Error)) throw error;
    put(said, h("p", { class: "trouble" }, error.message));
  }
  return place;
}
