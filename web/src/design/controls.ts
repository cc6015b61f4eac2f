/** Controls that are more than one element: a slider with a number beside it, a labelled field. */
import { h } from "../shared/dom.js";
import { number } from "../shared/scales.js";

const STEPS = 1000;

export interface SliderSettings {
  id: string;
  label: string;
  low: number;
  high: number;
  value: number;
  /** Equal steps are equal ratios. */
  isLog?: boolean;
  isWhole?: boolean;
  /** Digits that a position of the slider has; 2 if left out. */
  digits?: number;
  unit?: string;
  /** Told of every movement, and of numbers typed. */
  change: (value: number) => void;
}

export interface Slider {
  element: HTMLElement;
  /** Show another value, without telling anybody. */
  set: (value: number) => void;
  limit: (low: number, high: number, unit?: string) => void;
}

/** A slider for a rough value, and a field beside it for an exact one. */
export function slider(settings: SliderSettings): Slider {
  let { low, high } = settings;
  const range = h("input", { type: "range", id: settings.id, min: 0, max: STEPS, step: 1 });
  const field = h("input", {
    type: "text",
    class: "number",
    inputmode: settings.isWhole ? "numeric" : "decimal",
    autocomplete: "off",
    "aria-label": `${settings.label}, as a number`,
    size: 7,
  });
  const unit = h("span", { class: "unit" }, settings.unit ?? "");
  const part = (value: number): number =>
    settings.isLog ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  let last = settings.value;
  const show = (value: number, isTyped = false): void => {
    last = value;
    range.value = String(Math.round(Math.min(1, Math.max(0, part(value))) * STEPS));
    range.setAttribute("aria-valuetext", `${number(value)} ${unit.textContent}`.trim());
    if (!isTyped) field.value = number(value);
  };
  range.addEventListener("input", () => {
    const share = Number(range.value) / STEPS;
    const raw = settings.isLog ? low * (high / low) ** share : low + (high - low) * share;
    const value =
      settings.isWhole && !settings.isLog
        ? Math.round(raw)
        : tidy(raw, settings.digits ?? 2, settings.isWhole ?? false);
    mark(field);
    show(value);
    settings.change(value);
  });
  field.addEventListener("change", () => {
    const value = Number(field.value.replace(/[,\s_]/g, ""));
    const isGood =
      Number.isFinite(value) &&
      value > 0 &&
      field.value.trim() !== "" &&
      (!settings.isWhole || Number.isInteger(value));
    if (!isGood)
      return mark(
        field,
        `${settings.label}: ${settings.isWhole ? "a whole number" : "a number"} above 0, such as ${number(last)}.`,
      );
    mark(field);
    show(value);
    settings.change(value);
  });
  show(settings.value);
  return {
    element: h(
      "div",
      { class: "slider" },
      h("label", { for: settings.id }, settings.label),
      h("span", { class: "exact" }, field, unit),
      range,
    ),
    set: (value) => show(value, document.activeElement === field || field.getAttribute("aria-invalid") === "true"),
    limit: (lowest, highest, words) => {
      [low, high] = [lowest, highest];
      if (words !== undefined) unit.textContent = words;
    },
  };
}

/** A value in few digits, as a slider gives it: nobody wants 0.0537162. */
function tidy(value: number, digits: number, isWhole: boolean): number {
  const found = Number(value.toPrecision(digits));
  return isWhole ? Math.max(1, Math.round(found)) : found;
}

/** Mark a field as wrong, and say below it why; as right where there are no words. */
export function mark(control: HTMLElement, words = ""): void {
  const place = control.closest(".field, .slider") ?? control.parentElement;
  const id = `${control.id || (place?.querySelector("input")?.id ?? "")}-wrong`;
  place?.querySelector(`[id="${id}"]`)?.remove();
  const described = (control.getAttribute("aria-describedby") ?? "").split(" ").filter((one) => one && one !== id);
  if (words) {
    control.setAttribute("aria-invalid", "true");
    place?.append(h("p", { class: "trouble", id, role: "alert" }, words));
    described.push(id);
  } else control.removeAttribute("aria-invalid");
  if (described.length > 0) control.setAttribute("aria-describedby", described.join(" "));
  else control.removeAttribute("aria-describedby");
}

/** A field with its label above, and words that help below. */
export function field<E extends HTMLElement>(id: string, label: string, control: E, help = ""): HTMLElement {
  control.id = id;
  if (help) control.setAttribute("aria-describedby", `${id}-help`);
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    control,
    help && h("p", { class: "note", id: `${id}-help` }, help),
  );
}

/** Options of which one is chosen, as buttons in a row. */
export function choices(
  name: string,
  legend: string,
  options: { value: string; words: string }[],
  chosen: string,
  change: (value: string) => void,
): HTMLFieldSetElement {
  const each = options.map((one, index) =>
    h(
      "span",
      { class: "chip" },
      h("input", {
        type: "radio",
        name,
        id: `${name}-${index}`,
        value: one.value,
        checked: one.value === chosen,
        onchange: () => change(one.value),
      }),
      h("label", { for: `${name}-${index}` }, one.words),
    ),
  );
  return h("fieldset", { class: "chips" }, h("legend", {}, legend), ...each);
}
