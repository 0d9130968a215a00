import type { Attributes } from "./tokens.ts";

/** Elements that stand by themselves: on lines of their own (1), or as paragraphs, between empty lines (2). */
export const breaksOf: ReadonlyMap<string, 1 | 2> = new Map([
  ...each("address article aside body caption center dd details dialog div dt fieldset figcaption footer form", 1),
  ...each("header html legend li main option section summary tfoot thead tbody tr", 1),
  ...each("blockquote dl figure h1 h2 h3 h4 h5 h6 hr menu ol p pre listing table ul xmp", 2),
]);

/** Elements that are never text for a reader. */
const mute = set("script style template iframe noembed noframes svg canvas object audio video map");

/** Elements that belong to the site and not to the page, or are there to be operated. */
const furniture = set("nav button select textarea datalist dialog");

/** Elements whose end has to be written, so that it is known where something hidden ends. */
const closed = set("div span section article aside ul ol table form figure header footer a dl details");

/** Is the element left out with all in it? With `wide`, what is only probably no text is kept. */
export function isLeftOut(name: string, attributes: Attributes, wide: boolean): boolean {
  if (mute.has(name)) return !(name === "svg" && attributes.isSelfClosing);
  if (wide) return false;
  if (furniture.has(name)) return true;
  if (!closed.has(name)) return false;
  const isHidden = attributes.get("hidden") !== undefined || attributes.get("aria-hidden") === "true";
  return isHidden || attributes.get("role") === "navigation";
}

/** Elements with which a page's own text begins, whatever was left open before. */
export const beginsContent = set("main article");

function set(names: string): ReadonlySet<string> {
  return new Set(names.split(" "));
}

function each(names: string, breaks: 1 | 2): [string, 1 | 2][] {
  return names.split(" ").map((name) => [name, breaks]);
}

/** Does it part the text of a page, but not that of a cell? */
export function isSoft(name: string): boolean {
  return name === "p" || name === "div" || name === "center";
}

/** No link goes from one of these to the next, whether it was closed or not. */
export const endsLink = set("li dt dd tr td th table");
