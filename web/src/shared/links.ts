/** The address that people open to take part: as a link, as a picture for their cameras, and how far it reaches. */

import { generate } from "lean-qr";
import { h, put, s } from "./dom.js";
import { copyButton, started } from "./shell.js";

const HERE = ["127.0.0.1", "localhost", "[::1]"];
/** Modules of white around a code, without which cameras do not find it. */
const QUIET = 4;

/** Where a site of one's own is kept, in front of this collector: such as https://survey.example.org. */
const SITE = "confide site";

/** Where people take part in a survey: the person's own site, what is shared, what the network reaches, or where this page is. */
export function addressOf(fingerprint: string): string {
  const { shared, network } = started().links;
  const own = HERE.includes(location.hostname) && network ? network : location.origin;
  return `${keptSite() || shared || own}/take/${fingerprint}`;
}

function keptSite(): string {
  try {
    return siteIn(localStorage.getItem(SITE) ?? "");
  } catch {
    return "";
  }
}

/** The site in what was typed; empty where that names none. */
function siteIn(text: string): string {
  try {
    const { protocol, origin } = new URL(text.trim());
    return /^https?:$/.test(protocol) ? origin : "";
  } catch {
    return "";
  }
}

/** An address as a QR code: dark on white also where the page is dark, as cameras expect. */
export function qrCode(address: string): SVGSVGElement {
  const code = generate(address);
  const cells: string[] = [];
  for (let y = 0; y < code.size; y++)
    for (let x = 0; x < code.size; x++) if (code.get(x, y)) cells.push(`M${x + QUIET} ${y + QUIET}h1v1h-1z`);
  const size = code.size + 2 * QUIET;
  return s(
    "svg",
    { class: "qr", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": `QR code of ${address}` },
    s("rect", { width: size, height: size, fill: "#fff" }),
    s("path", { d: cells.join(""), fill: "#000" }),
  );
}

/** The address to take part at: to open, to copy, to photograph, and what to know of it. */
export function invited(fingerprint: string): HTMLElement {
  const element = h("div", { class: "invited" });
  show(element, fingerprint);
  return element;
}

function show(element: HTMLElement, fingerprint: string): void {
  const address = addressOf(fingerprint);
  put(
    element,
    h(
      "div",
      {},
      h(
        "p",
        { class: "beside" },
        h("a", { class: "address", href: address, target: "_blank", rel: "noopener" }, address),
        copyButton(() => address, "Copy the address"),
      ),
      ...remarksOn(address).map((words) => h("p", { class: "note reach" }, ...words)),
      ownSite(() => show(element, fingerprint)),
    ),
    qrCode(address),
  );
}

/** A field for the address of a server in front of this one: nothing here can know it. */
function ownSite(changed: () => void): HTMLElement {
  const trouble = h("p", { class: "trouble", role: "alert" });
  const field = h("input", {
    type: "url",
    value: keptSite(),
    placeholder: "https://survey.example.org",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Address of your own site",
  });
  field.addEventListener("change", () => {
    const site = siteIn(field.value);
    if (field.value.trim() && !site) return put(trouble, "An address begins with https:// and names a site.");
    try {
      localStorage.setItem(SITE, site);
    } catch {
      // A browser that keeps nothing asks again the next time.
    }
    changed();
  });
  return h(
    "details",
    { class: "own-site" },
    h("summary", {}, "A site of your own"),
    h("p", { class: "note" }, "Where people reach this collector by a real domain. Empty: the address above."),
    field,
    trouble,
  );
}

/** What to know of an address before it is given to others. */
function remarksOn(address: string): (HTMLElement | string)[][] {
  const { hostname, protocol } = new URL(address);
  const { shared, machine } = started().links;
  if (HERE.includes(hostname)) {
    const where = machine ? `, where this machine is ${machine}` : "";
    const cure = shared
      ? "Connect it to a network, and start again."
      : `For phones on your network${where}: start again with `;
    return [
      [
        h("strong", {}, "This link works on this machine alone. "),
        cure,
        !shared && h("code", {}, "confide studio --share"),
        !shared && ".",
      ].filter((one) => one !== false),
    ];
  }
  if (shared && protocol === "https:")
    return [
      [
        "It works on this network, as long as the studio runs. Phones warn once of a certificate that nobody vouches for: ",
        "open the details and go on. For a survey beyond this room, use a real domain.",
      ],
    ];
  if (protocol === "http:")
    return [
      [
        h("strong", {}, "This link is plain http. "),
        "Others on the network can read what is sent, and could change the page. It is good for a rehearsal; for a survey, ",
        "use https.",
      ],
    ];
  return [];
}
