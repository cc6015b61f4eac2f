/** Districts of one's own: a GeoJSON file that is dropped here, read in the browser; the server is told which cells are in each. */
import type { Values } from "../shared/api.js";
import { h, put } from "../shared/dom.js";

/** A district by its name, and the values whose cells' middles lie in it. */
export interface District {
  name: string;
  cells: number[];
}

type Ring = [x: number, y: number][];

const MOST = 60;
const LARGEST = 20_000_000;
const LONGEST_NAME = 80;

/** Read districts, or throw with what is wrong in words. */
export function districtsIn(text: string, values: Values): District[] {
  const degrees = values.plane?.degrees;
  if (!values.plane || !degrees) throw new Error("Only maps of the Earth have districts.");
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error("This file is no JSON. A GeoJSON file of areas is needed.");
  }
  const features = featuresOf(found);
  if (!features.length) throw new Error("This file has no areas: a GeoJSON FeatureCollection of polygons is needed.");
  if (features.length > MOST) throw new Error(`At most ${MOST} districts; this file has ${features.length}.`);
  const { rows, columns, cells } = values.plane;
  const middles = cells.map(([row, column]): [number, number] => [
    degrees.west + ((column + 0.5) / columns) * (degrees.east - degrees.west),
    degrees.south + ((row + 0.5) / rows) * (degrees.north - degrees.south),
  ]);
  // A cell belongs to the first district that its middle lies in: shares of all districts then add up.
  const taken = new Set<number>();
  const districts = features.map(({ name, rings }) => {
    const own = middles.flatMap((middle, index) => (!taken.has(index) && isInside(middle, rings) ? [index] : []));
    for (const index of own) taken.add(index);
    return { name, cells: own };
  });
  const inside = districts.filter((one) => one.cells.length > 0);
  if (!inside.length) throw new Error("No cell of this map has its middle in one of these areas. Is it another city?");
  return inside;
}

function featuresOf(found: unknown): { name: string; rings: Ring[] }[] {
  const whole = found as { type?: unknown; features?: unknown };
  const all: unknown[] = Array.isArray(whole?.features) ? whole.features : whole?.type === "Feature" ? [found] : [];
  return all.flatMap((one, index) => {
    const { geometry, properties } = (one ?? {}) as {
      geometry?: { type?: string; coordinates?: unknown };
      properties?: Record<string, unknown>;
    };
    const coordinates = geometry?.coordinates;
    const rings =
      geometry?.type === "Polygon"
        ? (coordinates as Ring[])
        : geometry?.type === "MultiPolygon"
          ? (coordinates as Ring[][]).flat()
          : [];
    return rings.length ? [{ name: nameOf(properties ?? {}, index), rings }] : [];
  });
}

/** What a district is called: by the usual keys, else by its first text. */
function nameOf(properties: Record<string, unknown>, index: number): string {
  const usual = Object.keys(properties).sort((one, other) => rank(one) - rank(other));
  const found = usual.map((key) => properties[key]).find((one) => typeof one === "string" && one.trim());
  return String(found ?? `District ${index + 1}`).slice(0, LONGEST_NAME);
}

function rank(key: string): number {
  const place = ["name", "title", "label", "district", "nom", "nombre"].indexOf(key.toLowerCase());
  return place < 0 ? 99 : place;
}

/** Whether a ray from the place crosses the rings an odd number of times: holes are crossed twice. */
function isInside([x, y]: [number, number], rings: Ring[]): boolean {
  let isIn = false;
  for (const ring of rings)
    for (let index = 0, before = ring.length - 1; index < ring.length; before = index++) {
      const [[x1, y1], [x2, y2]] = [ring[index]!, ring[before]!];
      if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) isIn = !isIn;
    }
  return isIn;
}

/** A place to drop the file on, or to choose it by keyboard; `take` gets the districts, null to forget them. */
export function dropPlace(values: () => Values | null, take: (districts: District[] | null) => void): HTMLElement {
  const said = h("p", { class: "note", role: "status" });
  const trouble = h("p", { class: "trouble", role: "alert" });
  const input = h("input", { type: "file", accept: ".geojson,.json,application/geo+json", id: "districts" });
  const forget = h("button", { type: "button", class: "quiet", hidden: true }, "Forget them");
  const read = async (file: File): Promise<void> => {
    put(trouble);
    const known = values();
    if (!known) return;
    try {
      if (file.size > LARGEST) throw new Error("This file has more than 20 MB. Simplify its borders first.");
      const found = districtsIn(await file.text(), known);
      put(said, `${found.length} districts of ${file.name}. The file stays in this browser.`);
      forget.hidden = false;
      take(found);
    } catch (error) {
      put(trouble, error instanceof Error ? error.message : String(error));
    }
  };
  input.addEventListener("change", () => input.files?.[0] && void read(input.files[0]));
  forget.addEventListener("click", () => {
    put(said);
    input.value = "";
    forget.hidden = true;
    input.focus();
    take(null);
  });
  const place = h(
    "div",
    { class: "drop-place" },
    h("label", { for: "districts" }, "Districts of your own: drop a GeoJSON file here, or choose it"),
    input,
    forget,
    said,
    trouble,
  );
  place.addEventListener("dragover", (event) => event.preventDefault());
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) void read(file);
  });
  return place;
}
