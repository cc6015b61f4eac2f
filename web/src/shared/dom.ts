/** Elements made by a function: text is always text, so that a hostile survey stays words. */

type Child = Node | string | number | false | null | undefined;
type Listener<K extends keyof HTMLElementEventMap> = (event: HTMLElementEventMap[K]) => void;
type Properties = {
  [name: `aria-${string}` | `data-${string}`]: string | number | boolean | undefined;
} & {
  [K in keyof HTMLElementEventMap as `on${K}`]?: Listener<K>;
} & { [name: string]: unknown };

const SVG = "http://www.w3.org/2000/svg";

/** Make an element of HTML: `h("button", { class: "main", onclick: save }, "Save")`. */
export function h<T extends keyof HTMLElementTagNameMap>(
  tag: T,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[T] {
  return fill(document.createElement(tag), properties, children);
}

/** Make an element of SVG. */
export function s<T extends keyof SVGElementTagNameMap>(
  tag: T,
  properties: Properties = {},
  ...children: Child[]
): SVGElementTagNameMap[T] {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** Replace what an element holds. */
export function put(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...children.filter(isShown).map(asNode));
}

function fill<E extends Element>(element: E, properties: Properties, children: Child[]): E {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false || value === null) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "value" || name === "checked" || name === "selected")
      (element as unknown as Record<string, unknown>)[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter(isShown).map(asNode));
  return element;
}

function isShown(child: Child): child is Node | string | number {
  return child !== false && child !== null && child !== undefined;
}

function asNode(child: Node | string | number): Node | string {
  return typeof child === "number" ? String(child) : child;
}
