import type { Sheet } from "./sheet.ts";
import type { Attributes } from "./tokens.ts";

/** An element's effect, beside parting what stands before it from what stands after it. */
type ElementMark = {
  open?(sheet: Sheet, attributes: Attributes): void;
  close?(sheet: Sheet): void;
};

const list: ElementMark = {
  open: (sheet) => sheet.openList({ isNumbered: false, next: 1 }),
  close: (sheet) => sheet.closeList(),
};
const numbered: ElementMark = { ...list, open: openNumbered };
const code: ElementMark = {
  open: (sheet, attributes) => sheet.openCode(languageOf(attributes)),
  close: (sheet) => sheet.closeCode(),
};
const verbatim: ElementMark = {
  open: (sheet, attributes) => sheet.openVerbatim(languageOf(attributes)),
  close: (sheet) => sheet.closeVerbatim(),
};
const cell: ElementMark = { open: (sheet) => sheet.cell() };
const quotation: ElementMark = { open: (sheet) => sheet.text('"'), close: (sheet) => sheet.text('"') };

/** A map and no record: an element may be called `constructor`. */
export const marks: ReadonlyMap<string, ElementMark> = new Map(
  Object.entries<ElementMark>({
    h1: heading(1),
    h2: heading(2),
    h3: heading(3),
    h4: heading(4),
    h5: heading(5),
    h6: heading(6),
    ul: list,
    menu: list,
    ol: numbered,
    li: { open: (sheet) => sheet.item(), close: (sheet) => sheet.unmark() },
    dd: { open: (sheet) => sheet.definition(), close: (sheet) => sheet.unmark() },
    blockquote: { open: (sheet) => sheet.openQuote(), close: (sheet) => sheet.closeQuote() },
    table: { open: (sheet) => sheet.openTable(), close: (sheet) => sheet.closeTable() },
    tr: { open: (sheet) => sheet.row() },
    td: cell,
    th: cell,
    pre: verbatim,
    listing: verbatim,
    xmp: verbatim,
    code,
    kbd: code,
    samp: code,
    tt: code,
    a: {
      open: (sheet, attributes) => sheet.openLink(attributes.get("href") ?? ""),
      close: (sheet) => sheet.closeLink(),
    },
    img: { open: showImage },
    br: { open: (sheet) => sheet.breakLine() },
    hr: { open: (sheet) => sheet.rule() },
    q: quotation,
    // Without a sign, two to the tenth would be two hundred and ten.
    sup: { open: (sheet) => sheet.text("^") },
    sub: { open: (sheet) => sheet.text("_") },
  }),
);

function heading(level: number): ElementMark {
  return { open: (sheet) => sheet.heading(level), close: (sheet) => sheet.unmark() };
}

function openNumbered(sheet: Sheet, attributes: Attributes): void {
  const start = Number.parseInt(attributes.get("start") ?? "1", 10);
  sheet.openList({ isNumbered: true, next: Number.isSafeInteger(start) ? start : 1 });
}

/** One without words for it is an ornament. */
function showImage(sheet: Sheet, attributes: Attributes): void {
  const alt = (attributes.get("alt") ?? "").trim();
  if (alt !== "") sheet.image(alt, attributes.get("src") ?? "");
}

function languageOf(attributes: Attributes): string {
  return /(?:^|\s)(?:language|lang|highlight-source)-([\w+#-]{1,30})/.exec(attributes.get("class") ?? "")?.[1] ?? "";
}
