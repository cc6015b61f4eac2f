/** Several questions in one survey: each has a name and values of its own, and all are blurred as one answer. */
import type { AlphabetTable } from "../shared/api.js";
import { h, put } from "../shared/dom.js";
import { attributesOf } from "../shared/tables.js";
import { field, mark } from "./controls.js";
import { valueFields } from "./values.js";

const FEWEST = 2;
const MOST = 4;

/** What a question may ask for, and how it begins. */
const KINDS: { words: string; alphabet: AlphabetTable }[] = [
  { words: "One of a few answers", alphabet: { kind: "categories", values: ["yes", "no"] } },
  { words: "A number in ranges", alphabet: { kind: "bins", edges: [0, 18, 30, 45, 65, 90], unit: "year" } },
  { words: "A whole number", alphabet: { kind: "integers", low: 0, high: 10 } },
  { words: "Answers in their order", alphabet: { kind: "scale", values: ["never", "sometimes", "often"] } },
];

/** Fields for the questions of a survey; told of the whole table when one has changed and all are right. */
export function attributeFields(table: AlphabetTable, change: (table: AlphabetTable) => void): HTMLElement {
  const parts = attributesOf(table);
  const element = h("div", { class: "attributes" });
  const tell = (): void => {
    if (!element.querySelector('[aria-invalid="true"]'))
      change({ kind: "attributes", names: parts.map((one) => one.name), alphabets: parts.map((one) => one.alphabet) });
  };
  const rename = (index: number, control: HTMLInputElement): void => {
    const name = control.value.trim();
    const isTaken = parts.some((one, other) => other !== index && one.name === name);
    mark(
      control,
      !/^[A-Za-z_]\w*$/.test(name)
        ? "One word of letters is needed, such as region."
        : isTaken
          ? "Another question is called so."
          : "",
    );
    parts[index]!.name = name;
    tell();
  };
  const fill = (focus = ""): void => {
    put(
      element,
      ...parts.map((_one, index) => question(index)),
      parts.length < MOST && add(),
      h(
        "p",
        { class: "note" },
        "A person’s answers are blurred together, as one: the fewer combinations there are, the fewer people it takes.",
      ),
    );
    if (focus) element.querySelector<HTMLElement>(focus)?.focus();
  };
  const question = (index: number): HTMLElement => {
    const part = parts[index]!;
    const id = `question-${index}`;
    const name = h("input", {
      type: "text",
      value: part.name,
      autocomplete: "off",
      spellcheck: "false",
      onchange: () => rename(index, name),
    });
    const kind = h(
      "select",
      {
        onchange: () => {
          part.alphabet = structuredClone(KINDS[Number(kind.value)]!.alphabet);
          fill(`#${id}-kind`);
          tell();
        },
      },
      ...KINDS.map((one, place) =>
        h("option", { value: place, selected: one.alphabet.kind === part.alphabet.kind }, one.words),
      ),
    );
    const values = valueFields(
      part.alphabet,
      (found) => {
        part.alphabet = found;
        tell();
      },
      id,
    );
    const remove =
      parts.length > FEWEST &&
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          onclick: () => {
            parts.splice(index, 1);
            fill("#question-0-name");
            tell();
          },
        },
        `Remove question ${index + 1}`,
      );
    return h(
      "fieldset",
      { class: "question" },
      h("legend", {}, `Question ${index + 1}`),
      h(
        "div",
        { class: "named-kind" },
        field(`${id}-name`, "Called", name),
        field(`${id}-kind`, "Kind of answer", kind),
      ),
      values,
      remove,
    );
  };
  const add = (): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        onclick: () => {
          let number = parts.length + 1;
          while (parts.some((one) => one.name === `question${number}`)) number++;
          parts.push({ name: `question${number}`, alphabet: structuredClone(KINDS[0]!.alphabet) });
          fill(`#question-${parts.length - 1}-name`);
          tell();
        },
      },
      "Add a question",
    );
  fill();
  return element;
}
