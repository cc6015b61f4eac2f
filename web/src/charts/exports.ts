/** Pictures and numbers taken along as files. */

import { h, s } from "../shared/dom.js";
import { shorten, widthOf } from "../shared/scales.js";
import type { Drawing, Spec } from "./charts.js";

const WIDTH = 800;
const EDGE = 20;
const INLINED = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "paint-order",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
] as const;

/** Give a file to the person. */
export function save(name: string, content: string | Blob, type: string): void {
  const url = URL.createObjectURL(typeof content === "string" ? new Blob([content], { type }) : content);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // The browser reads the blob after the click: not before a turn of the loop has passed.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The shares as CSV, unrounded. Cells that a spreadsheet would run as formulas begin with an apostrophe. */
export function csvOf(spec: Spec): string {
  const rows = [
    [spec.name ?? "value", ...spec.series.map((one) => one.name)],
    ...spec.values.labels.map((label, index) => [label, ...spec.series.map((one) => String(one.shares[index] ?? ""))]),
  ];
  return `${rows.map((row) => row.map(quoted).join(",")).join("\r\n")}\r\n`;
}

function quoted(cell: string): string {
  const isNumber = cell.trim() !== "" && Number.isFinite(Number(cell));
  const safe = !isNumber && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A picture as a file: drawn anew in one width, in light colours, with title, key and finding, its styles as attributes. */
export function svgOf(spec: Spec, draw: (width: number) => Drawing): string {
  const drawing = draw(WIDTH - 2 * EDGE);
  const head = headOf(spec);
  const height = drawing.height + head.height + EDGE;
  const ground = s("rect", { class: "paper", width: WIDTH, height });
  const svg = s(
    "svg",
    { width: WIDTH, height, viewBox: `0 0 ${WIDTH} ${height}`, xmlns: "http://www.w3.org/2000/svg", role: "img" },
    s("title", {}, spec.title || "Shares"),
    s("desc", {}, spec.finding),
    ground,
    ...head.elements,
    s("g", { transform: `translate(${EDGE} ${head.height})` }, drawing.image),
  );
  inLight(svg);
  return new XMLSerializer().serializeToString(svg);
}

function headOf(spec: Spec): { height: number; elements: SVGElement[] } {
  const elements: SVGElement[] = [];
  let y = EDGE;
  if (spec.title)
    elements.push(
      s("text", { class: "file-title", x: EDGE, y: (y += 16) }, shorten(spec.title, WIDTH - 2 * EDGE, 17, 650)),
    );
  for (const line of wrapped(spec.finding, WIDTH - 2 * EDGE))
    elements.push(s("text", { class: "tick", x: EDGE, y: (y += 18) }, line));
  if (!spec.values.plane && spec.series.length > 1) {
    let x = EDGE;
    y += 22;
    for (const one of spec.series) {
      const room = 24 + widthOf(one.name) + 18;
      if (x > EDGE && x + room > WIDTH - EDGE) [x, y] = [EDGE, y + 18];
      elements.push(
        s("rect", { class: `key of-${one.colour}`, x, y: y - 9, width: 11, height: 11 }),
        s("text", { class: "tick", x: x + 17, y }, one.name),
      );
      x += room;
    }
  }
  return { height: y + 14, elements };
}

function wrapped(text: string, room: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ").filter(Boolean)) {
    const longer = lines.length > 0 ? `${lines.at(-1)} ${word}` : word;
    if (lines.length > 0 && widthOf(longer) <= room) lines[lines.length - 1] = longer;
    else lines.push(shorten(word, room));
  }
  return lines;
}

/** A mixed colour, "color(srgb 0.5 0 1)", as every program that draws knows it. */
function plainColour(value: string): string {
  const found = /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)\)$/.exec(value);
  return found
    ? `rgb(${found
        .slice(1)
        .map((part) => Math.round(255 * Number(part)))
        .join(", ")})`
    : value;
}

/** Write what the style sheet says into attributes, as a light page has it: nothing is painted in between. */
function inLight(svg: SVGSVGElement): void {
  const root = document.documentElement;
  const theme = root.getAttribute("data-theme");
  const host = h("div", { class: "picture offscreen", "aria-hidden": "true" }, svg);
  document.body.append(host);
  root.setAttribute("data-theme", "light");
  for (const element of svg.querySelectorAll<SVGElement>("rect, path, line, text, circle")) {
    const style = getComputedStyle(element);
    for (const name of INLINED) {
      const value = style.getPropertyValue(name);
      if (value && !(name.startsWith("font") && element.tagName !== "text"))
        element.setAttribute(name, plainColour(value));
    }
  }
  for (const element of svg.querySelectorAll("[class]")) element.removeAttribute("class");
  if (theme === null) root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", theme);
  host.remove();
}

/** The same in pixels, two for each of the picture. */
export async function pngOf(svg: string): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const picture = new Image();
    picture.src = url;
    await picture.decode();
    const canvas = h("canvas", { width: picture.naturalWidth * 2, height: picture.naturalHeight * 2 });
    canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, fail) =>
      canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}
