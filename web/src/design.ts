/** Design: who is asked, how many, how precise; the rest follows. */
import { h, put } from "./dom.js";

export function show(main: HTMLElement, _route: string[]): () => void {
  put(main, h("header", {}, h("h1", {}, "Design a survey")));
  return () => undefined;
}
