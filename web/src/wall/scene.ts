/** What the wall draws: a pile of reports below, the estimate above it, and what moves between two looks. */
import type { Values } from "../shared/api.js";

export interface Seen {
  labels: string[];
  plane: Values["plane"];
  people: number;
  reports: number[] | null;
  estimate: number[];
  band: { low: number[]; high: number[] } | null;
}

/** Columns that a wall has room for: more values share one. */
const MOST_COLUMNS = 120;
/** Reports that fall at a time; the others are there when these land. */
const MOST_FALLING = 400;
const FALL = 900;
const SPREAD = 1200;
const SETTLE = 700;
const LARGEST_DOT = 12;
const SMALLEST_DOT = 2;

interface Falling {
  column: number;
  /** Reports that land with it. */
  weight: number;
  from: number;
  at: number;
}

interface Curve {
  estimate: number[];
  low: number[] | null;
  high: number[] | null;
}

export class Scene {
  readonly #canvas: HTMLCanvasElement;
  readonly #pen: CanvasRenderingContext2D;
  readonly #watcher: ResizeObserver;
  readonly #calm = matchMedia("(prefers-reduced-motion: reduce)");
  #seen: Seen | null = null;
  /** Reports in each column: that lie there, and that are known. */
  #lying: number[] = [];
  #known: number[] = [];
  #falling: Falling[] = [];
  #before: Curve | null = null;
  #after: Curve | null = null;
  #settledAt = 0;
  /** The height of the tallest pile and of the highest share: they grow slowly, so that nothing jumps. */
  #tallest = 1;
  #highest = 0.05;
  #frame = 0;
  #colours: Record<string, string> = {};

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    this.#pen = canvas.getContext("2d")!;
    this.#watcher = new ResizeObserver(() => this.#wake());
    this.#watcher.observe(canvas);
  }

  end(): void {
    cancelAnimationFrame(this.#frame);
    this.#watcher.disconnect();
  }

  show(seen: Seen): void {
    const columns = Math.min(MOST_COLUMNS, seen.labels.length);
    const isNew = this.#seen === null || this.#seen.labels.length !== seen.labels.length;
    this.#seen = seen;
    if (isNew) {
      this.#lying = Array<number>(columns).fill(0);
      this.#known = Array<number>(columns).fill(0);
      this.#before = null;
    }
    const now = performance.now();
    const counts = seen.reports ? shared(seen.reports, columns).map((share) => Math.round(share * seen.people)) : [];
    this.#drop(counts, now);
    const curve = {
      estimate: shared(seen.estimate, columns),
      // A band of single values says nothing of several together.
      low: seen.band && columns === seen.labels.length ? seen.band.low : null,
      high: seen.band && columns === seen.labels.length ? seen.band.high : null,
    };
    this.#before = this.#after ? this.#between(now) : null;
    this.#after = curve;
    this.#settledAt = this.#calm.matches ? -Infinity : now;
    this.#wake();
  }

  /** Let what is new fall: a few for all, where there are many. */
  #drop(counts: number[], now: number): void {
    const more = counts.map((count, column) => Math.max(0, count - (this.#known[column] ?? 0)));
    this.#known = counts;
    if (this.#calm.matches || !counts.length) {
      this.#lying = [...counts];
      this.#falling = [];
      return;
    }
    // A column that has fewer than before, by rounding, loses them at once.
    this.#lying = this.#lying.map((lying, column) => Math.min(lying, counts[column] ?? 0));
    const all = more.reduce((sum, one) => sum + one, 0);
    const weight = Math.max(1, Math.ceil(all / MOST_FALLING));
    more.forEach((count, column) => {
      for (let left = count; left > 0; left -= weight)
        this.#falling.push({
          column,
          weight: Math.min(weight, left),
          from: Math.random(),
          at: now + Math.random() * SPREAD,
        });
    });
  }

  /** The curve as it is drawn now: between that of the look before and the last one. */
  #between(now: number): Curve {
    const [from, to] = [this.#before, this.#after!];
    const part = Math.min(1, Math.max(0, (now - this.#settledAt) / SETTLE));
    const ease = 1 - (1 - part) ** 3;
    const mix = (one: number[] | null | undefined, other: number[] | null): number[] | null =>
      other && one
        ? other.map((value, index) => (one[index] ?? value) + ease * (value - (one[index] ?? value)))
        : other;
    return {
      estimate: mix(from?.estimate, to.estimate)!,
      low: mix(from?.low ?? from?.estimate, to.low),
      high: mix(from?.high ?? from?.estimate, to.high),
    };
  }

  #wake(): void {
    if (!this.#frame) this.#frame = requestAnimationFrame((now) => this.#draw(now));
  }

  #draw(now: number): void {
    this.#frame = 0;
    const begun = performance.now();
    if (!this.#seen || !this.#canvas.isConnected) return;
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const scale = Math.min(2, devicePixelRatio);
    if (this.#canvas.width !== Math.round(width * scale) || this.#canvas.height !== Math.round(height * scale)) {
      this.#canvas.width = Math.round(width * scale);
      this.#canvas.height = Math.round(height * scale);
    }
    const styles = getComputedStyle(this.#canvas);
    for (const name of ["reports", "stacked", "ink", "faint", "rule"])
      this.#colours[name] = styles.getPropertyValue(`--${name}`).trim();
    this.#pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.#pen.clearRect(0, 0, width, height);
    this.#land(now);
    const { plane } = this.#seen;
    if (plane && plane.cells.length === this.#seen.estimate.length) this.#drawPlane(width, height, plane, now);
    else this.#drawLine(width, height, now);
    const moves = this.#falling.length > 0 || now - this.#settledAt < SETTLE;
    performance.measure("wall frame", { start: begun, end: performance.now() });
    if (moves) this.#wake();
  }

  #land(now: number): void {
    this.#falling = this.#falling.filter((one) => {
      if (now < one.at + FALL) return true;
      this.#lying[one.column] = (this.#lying[one.column] ?? 0) + one.weight;
      return false;
    });
  }

  #drawLine(width: number, height: number, now: number): void {
    const pen = this.#pen;
    const { labels } = this.#seen!;
    const columns = this.#lying.length;
    const ground = height - 28;
    const room = ground * 0.42;
    const step = width / columns;
    const largest = Math.max(1, ...this.#known);
    this.#tallest = this.#calm.matches ? largest : this.#tallest + 0.15 * (largest - this.#tallest);
    // Dots as long as all fit; above that columns, as tall as they are many.
    const dots = packed(largest, step, room);
    const top = (column: number): number =>
      dots
        ? ground - 2 * dots.radius * Math.ceil((this.#lying[column] ?? 0) / dots.across)
        : ground - (room * (this.#lying[column] ?? 0)) / Math.max(1, this.#tallest);
    pen.fillStyle = this.#colours["reports"]!;
    pen.globalAlpha = 0.75;
    pen.beginPath();
    const dot = (x: number, y: number, size: number): void => {
      pen.moveTo(x + size, y);
      pen.arc(x, y, size, 0, 7);
    };
    for (let column = 0; column < columns; column++) {
      const x = (column + 0.5) * step;
      if (!dots) pen.rect(x - step / 2 + 0.5, top(column), Math.max(1, step - 1), ground - top(column));
      else
        for (let index = 0; index < this.#lying[column]!; index++) {
          const { radius, across } = dots;
          const aside = (2 * (index % across) + 1 - across) * radius;
          dot(x + aside, ground - radius * (2 * Math.floor(index / across) + 1), radius * 0.9);
        }
    }
    for (const one of this.#falling) {
      const part = (now - one.at) / FALL;
      if (part < 0) continue;
      const x = (one.column + 0.15 + 0.7 * one.from) * step;
      dot(
        x,
        -10 + (top(one.column) + 10) * part * part,
        dots ? dots.radius * 0.9 : Math.max(2.5, Math.min(4, step / 2)),
      );
    }
    pen.fill();
    pen.globalAlpha = 1;
    this.#drawCurve(width, ground, now, step);
    pen.fillStyle = this.#colours["rule"]!;
    pen.fillRect(0, ground, width, 1);
    this.#drawLabels(labels, width, height);
  }

  /** The estimate above the pile: bars where values are few, else a line; its band behind it. */
  #drawCurve(width: number, ground: number, now: number, step: number): void {
    if (!this.#after) return;
    const pen = this.#pen;
    const { estimate, low, high } = this.#between(now);
    const most = Math.max(...estimate, ...(high ?? []), 1e-6);
    this.#highest = this.#calm.matches ? most : this.#highest + 0.15 * (most - this.#highest);
    const base = ground * 0.52;
    const y = (share: number): number => base - (base - 12) * Math.max(0, Math.min(1.2, share / this.#highest));
    const isFew = estimate.length <= 24;
    pen.fillStyle = pen.strokeStyle = this.#colours["stacked"]!;
    if (low && high) {
      pen.globalAlpha = 0.22;
      pen.beginPath();
      if (isFew)
        low.forEach((share, index) => {
          pen.rect((index + 0.15) * step, y(high[index]!), 0.7 * step, y(share) - y(high[index]!));
        });
      else {
        high.forEach((share, index) => {
          pen.lineTo((index + 0.5) * step, y(share));
        });
        for (let index = low.length - 1; index >= 0; index--) pen.lineTo((index + 0.5) * step, y(low[index]!));
      }
      pen.fill();
      pen.globalAlpha = 1;
    }
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.beginPath();
    estimate.forEach((share, index) => {
      if (isFew) {
        pen.moveTo((index + 0.1) * step, y(share));
        pen.lineTo((index + 0.9) * step, y(share));
      } else pen.lineTo((index + 0.5) * step, y(share));
    });
    pen.stroke();
    pen.fillStyle = this.#colours["rule"]!;
    pen.fillRect(0, base, width, 1);
    if (!isFew) return;
    pen.fillStyle = this.#colours["ink"]!;
    pen.font = `600 ${Math.max(14, Math.min(28, step / 5))}px system-ui, sans-serif`;
    pen.textAlign = "center";
    estimate.forEach((share, index) => {
      pen.fillText(`${Math.round(100 * share)}%`, (index + 0.5) * step, Math.max(24, y(share) - 10));
    });
  }

  #drawLabels(labels: string[], width: number, height: number): void {
    const pen = this.#pen;
    pen.fillStyle = this.#colours["faint"]!;
    pen.font = "600 16px system-ui, sans-serif";
    const step = width / labels.length;
    if (labels.every((label) => pen.measureText(label).width < step - 6)) {
      pen.textAlign = "center";
      labels.forEach((label, index) => {
        pen.fillText(label, (index + 0.5) * step, height - 8);
      });
      return;
    }
    const named: [number, CanvasTextAlign, number][] = [
      [0, "left", 4],
      [Math.floor((labels.length - 1) / 2), "center", width / 2],
      [labels.length - 1, "right", width - 4],
    ];
    for (const [index, align, x] of named) {
      pen.textAlign = align;
      pen.fillText(labels[index] ?? "", x, height - 8, width / 3 - 8);
    }
  }

  /** A map: cells as dark as the estimate says, and what falls lands where it was reported. */
  #drawPlane(width: number, height: number, plane: NonNullable<Values["plane"]>, now: number): void {
    const pen = this.#pen;
    const { rows, columns, cells } = plane;
    const size = Math.min(width / columns, (height - 8) / rows);
    const [left, top] = [(width - size * columns) / 2, (height - size * rows) / 2];
    const estimate = this.#seen!.estimate;
    const most = Math.max(...estimate, 1e-9);
    pen.fillStyle = this.#colours["stacked"]!;
    cells.forEach(([row, column], index) => {
      pen.globalAlpha = 0.06 + 0.94 * ((estimate[index] ?? 0) / most);
      pen.fillRect(left + column * size, top + (rows - 1 - row) * size, size - 0.5, size - 0.5);
    });
    pen.fillStyle = this.#colours["reports"]!;
    pen.globalAlpha = 0.85;
    pen.beginPath();
    const each = Math.ceil(cells.length / Math.max(1, this.#lying.length));
    for (const one of this.#falling) {
      const part = (now - one.at) / FALL;
      const cell = cells[Math.min(cells.length - 1, one.column * each + Math.floor(one.from * each))];
      if (part < 0 || !cell) continue;
      const [x, y] = [left + (cell[1] + one.from) * size, top + (rows - 0.5 - cell[0]) * size];
      pen.moveTo(x + 3, -10 + (y + 10) * part * part);
      pen.arc(x, -10 + (y + 10) * part * part, 3, 0, 7);
    }
    pen.fill();
    pen.globalAlpha = 1;
  }
}

/** How large dots are that so many fit into a column, and how many lie side by side; null where they would be too small. */
function packed(largest: number, step: number, room: number): { radius: number; across: number } | null {
  for (let radius = LARGEST_DOT; radius >= SMALLEST_DOT; radius -= 0.5) {
    const across = Math.max(1, Math.floor((step - 4) / (2 * radius)));
    if (2 * radius <= step && Math.ceil(largest / across) * 2 * radius <= room) return { radius, across };
  }
  return null;
}

/** Shares over fewer columns: those of neighbours together. */
function shared(shares: number[], columns: number): number[] {
  if (shares.length === columns) return shares;
  const found = Array<number>(columns).fill(0);
  const each = Math.ceil(shares.length / columns);
  shares.forEach((share, index) => {
    found[Math.min(columns - 1, Math.floor(index / each))]! += share;
  });
  return found;
}
