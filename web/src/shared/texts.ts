/** What people read, in the survey's language: English is built in, others are files beside the page. */
import english from "../take/languages/en.json";

export type Key = keyof typeof english;

let texts: Record<string, string> = english;
let code = "en";

/** Speak this language from now on; English where there is no file of it. */
export async function speak(wanted: string): Promise<void> {
  const [short = ""] = wanted.toLowerCase().split("-");
  if (!/^[a-z]{2,3}$/.test(short) || short === "en") return;
  const found = await fetch(`/take/${short}.json`, { credentials: "omit" }).catch(() => null);
  if (!found?.ok) return;
  texts = { ...english, ...((await found.json()) as Record<string, string>) };
  code = wanted;
  document.documentElement.lang = wanted;
}

/** The language that is spoken: for numbers, days and the direction of voices. */
export function language(): string {
  return code;
}

/** A text with its places filled; of those for one and for several, the one for `n`. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  const [one = "", several = one] = (texts[key] ?? english[key]).split("¦");
  const text = Number(values["one"] ?? values["n"]) === 1 ? one : several;
  return text.replace(/\{(\w+)\}/g, (place, name: string) => {
    const found = values[name];
    return found === undefined ? place : typeof found === "number" ? found.toLocaleString(code) : found;
  });
}
