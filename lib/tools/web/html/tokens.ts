import { decodeEntities } from "./entities.ts";

/** Gets a page's parts in the order in which they are written: names in lower case, text and attributes decoded. */
export type Visitor = {
  open(name: string, attributes: Attributes): void;
  close(name: string): void;
  text(text: string): void;
  /** Nothing more is wanted. */
  readonly isFull: boolean;
};

export type Attributes = { get(name: string): string | undefined; readonly isSelfClosing: boolean };

/**
 * Takes HTML apart as browsers do, but for the tree that they build from it, in one pass whose time grows with the page
 * and with nothing else. (Bun's HTMLRewriter looks through all open elements at every end tag that closes none: a
 * page of a megabyte can hold it, and with it all of koda, for half a minute.)
 */
export function readHtml(html: string, visitor: Visitor): void {
  let at = 0;
  while (at < html.length && !visitor.isFull) {
    const start = match(markup, html, at)?.index ?? html.length;
    if (start > at) visitor.text(decodeEntities(html.slice(at, start)));
    at = start === html.length ? start : readMarkup(html, start, visitor);
  }
}

/** Every other "<" is text. */
const markup = /<[a-z/!?]/gi;

/** Returns where it ends. */
function readMarkup(html: string, start: number, visitor: Visitor): number {
  const [whole, slash, given = ""] = match(tag, html, start) ?? [];
  if (whole === undefined) return html.startsWith("<!--", start) ? endOfComment(html, start) : after(html, ">", start);

  const name = given.toLowerCase();
  const { attributes, end } = readAttributes(html, start + whole.length);
  if (slash !== "") {
    visitor.close(name);
    return end;
  }
  visitor.open(name, attributes);
  const closing = endOfRaw.get(name);
  if (closing === undefined) return end;

  const stop = match(closing, html, end)?.index ?? html.length;
  const isText = name === "title" || name === "textarea";
  visitor.text(isText ? decodeEntities(html.slice(end, stop)) : html.slice(end, stop));
  return stop;
}

const tag = /<(\/?)([a-z][^\s/>]*)/iy;

/** In these, a tag is text, but for the one that ends them. */
const endOfRaw: ReadonlyMap<string, RegExp> = new Map(
  ["script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes"].map((name) => [
    name,
    new RegExp(`</${name}(?=[\\s/>])`, "gi"),
  ]),
);

function endOfComment(html: string, start: number): number {
  if (html.startsWith("<!-->", start)) return start + 5;
  return after(html, "-->", start + 4);
}

function after(html: string, end: string, from: number): number {
  const found = html.indexOf(end, from);
  return found < 0 ? html.length : found + end.length;
}

/** Only these are kept: a tag may have a hundred thousand. */
const wanted = new Set(["href", "src", "alt", "class", "hidden", "role", "aria-hidden", "start"]);

function readAttributes(html: string, from: number): { attributes: Attributes; end: number } {
  const found = new Map<string, string>();
  let at = from;
  for (;;) {
    const [whole, given = "", double, single, bare] = match(attribute, html, at) ?? [];
    if (whole === undefined) break;
    const name = given.toLowerCase();
    // The first of a name counts, as everywhere.
    if (wanted.has(name) && !found.has(name)) found.set(name, double ?? single ?? bare ?? "");
    at += whole.length;
  }
  const end = after(html, ">", at);
  const get = (name: string) => {
    const value = found.get(name);
    return value === undefined ? undefined : decodeEntities(value);
  };
  return { attributes: { get, isSelfClosing: html[end - 2] === "/" }, end };
}

const attribute = /[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?/y;

/** A pattern that is sticky matches there, a global one there or later. */
function match(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}
