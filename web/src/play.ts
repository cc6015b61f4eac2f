import { h, put } from "./dom.js";

export function show(main: HTMLElement, _route: string[]): () => void {
  put(main, h("header", {}, h("h1", {}, "Play")));
  return () => undefined;
}
