import { parseUrl, resolveReference, type WebUrl } from "../url.ts";
import { beginsContent, breaksOf, endsLink, isLeftOut, isSoft } from "./elements.ts";
import { marks } from "./marks.ts";
import { Sheet } from "./sheet.ts";
import { readHtml, type Visitor } from "./tokens.ts";

type PageText = { title: string; text: string; isCut: boolean };

type Page = { html: string; url: WebUrl };

/** A page as text, about as Markdown would have it. However it is made, its text is not much longer than the page. */
export function htmlToText(page: Page): PageText {
  const text = read(page, { wide: false });
  // Some pages are all furniture, or never end it.
  return text.text === "" ? read(page, { wide: true }) : text;
}

/** So much at least, also of the smallest page: its links are written out. */
const shortest = 4096;

function read({ html, url }: Page, { wide }: { wide: boolean }): PageText {
  const sheet = new Sheet(url, Math.max(shortest, html.length * 4));
  let title: string | undefined;
  let isTitle = false;
  let hasBase = false;
  let leftOut: { name: string; depth: number } | undefined;

  const visitor: Visitor = {
    get isFull() {
      return sheet.isFull;
    },

    open(name, attributes) {
      if (leftOut?.name === name) leftOut.depth++;
      if (leftOut?.name === "nav" && beginsContent.has(name)) leftOut = undefined;
      if (leftOut !== undefined) return;
      if (isLeftOut(name, attributes, wide)) {
        leftOut = { name, depth: 1 };
        return;
      }
      isTitle = name === "title";
      if (name === "base" && !hasBase) {
        hasBase = true;
        sheet.setBase(baseOf(attributes.get("href"), url));
      }
      if (endsLink.has(name)) sheet.closeLink();
      part(name);
      marks.get(name)?.open?.(sheet, attributes);
    },

    close(name) {
      if (leftOut !== undefined) {
        if (leftOut.name === name) leftOut.depth--;
        if (leftOut.depth === 0) leftOut = undefined;
        return;
      }
      isTitle = false;
      if (endsLink.has(name)) sheet.closeLink();
      marks.get(name)?.close?.(sheet);
      part(name);
    },

    text(text) {
      if (leftOut !== undefined) return;
      if (isTitle) title ??= text.replace(/\s+/g, " ").trim();
      else sheet.text(text);
    },
  };

  const part = (name: string) => {
    const breaks = breaksOf.get(name);
    if (breaks === undefined) return;
    if (isSoft(name)) sheet.partSoftly(breaks);
    else sheet.part(breaks);
  };

  readHtml(html, visitor);
  return { title: title ?? "", text: sheet.end(), isCut: sheet.isFull };
}

function baseOf(href: string | undefined, url: WebUrl): WebUrl {
  const base = href === undefined ? url : parseUrl(resolveReference(href, url));
  return "fault" in base ? url : base;
}
