import { resolveReference, type WebUrl } from "../url.ts";
import { Verbatim } from "./verbatim.ts";
import { HtmlLineWriter } from "./writer.ts";

type List = { isNumbered: boolean; next: number };
type Link = { href: string; text: string };

/** A link that goes on for longer was never closed: it is text. */
const longestLink = 1000;
/** A cell that is longer is no figure of a table but a part of a page, and has paragraphs. */
const longestCell = 120;

/** The elements that are open at a place in a page: counts and not a tree, so that no page nests too deep. */
export class Sheet {
  readonly #writer: HtmlLineWriter;
  #base: WebUrl;
  #link: Link | undefined;
  #verbatim: Verbatim | undefined;
  #isInCode = false;
  readonly #lists: List[] = [];
  /** How many cells the row has, of every table that is open. */
  readonly #rows: number[] = [];

  constructor(base: WebUrl, limit: number) {
    this.#base = base;
    this.#writer = new HtmlLineWriter(limit);
  }

  get isFull(): boolean {
    return this.#writer.isFull;
  }

  setBase(base: WebUrl): void {
    this.#base = base;
  }

  end(): string {
    this.closeVerbatim();
    this.closeLink();
    return this.#writer.end();
  }

  text(text: string): void {
    if (this.#verbatim !== undefined) this.#verbatim.add(text);
    else if (this.#link === undefined) this.#writer.write(text);
    else {
      this.#link.text += text;
      if (this.#link.text.length > longestLink) this.#forgetLink();
    }
  }

  /** The end of a line (1) or of a paragraph (2). */
  part(breaks: 1 | 2): void {
    if (this.#verbatim !== undefined) this.#verbatim.endLine();
    else if (this.#link !== undefined) this.text(" ");
    else {
      this.closeCode();
      this.#writer.break(this.#lists.length + this.#rows.length > 0 ? 1 : breaks);
    }
  }

  /** The same for what may stand in a cell, where it only parts what is long. */
  partSoftly(breaks: 1 | 2): void {
    const isShort = this.#rows.length > 0 && this.#verbatim === undefined && this.#writer.lineLength <= longestCell;
    if (isShort && !this.#writer.isAtBreak) this.text(" ");
    else this.part(breaks);
  }

  breakLine(): void {
    if (this.#verbatim !== undefined) this.#verbatim.add("\n");
    else if (this.#link === undefined && this.#writer.isAtBreak) this.#writer.break(2);
    else this.partSoftly(1);
  }

  rule(): void {
    this.text("---");
    this.part(2);
  }

  heading(level: number): void {
    if (this.#link === undefined) this.#writer.mark(`${"#".repeat(level)} `);
  }

  /** Drops a mark that got no text. */
  unmark(): void {
    this.#writer.unmark();
  }

  openQuote(): void {
    this.#writer.quotes++;
  }

  closeQuote(): void {
    this.#writer.quotes = Math.max(0, this.#writer.quotes - 1);
  }

  openList(list: List): void {
    this.#lists.push(list);
    this.#writer.lists++;
  }

  closeList(): void {
    if (this.#lists.pop() !== undefined) this.#writer.lists--;
    this.#writer.unmark();
  }

  item(): void {
    this.#writer.unmark();
    const list = this.#lists.at(-1);
    this.#writer.mark(list?.isNumbered ? `${list.next++}. ` : "- ", { isItem: true });
  }

  definition(): void {
    this.#writer.mark("  ");
  }

  openTable(): void {
    this.#rows.push(0);
  }

  closeTable(): void {
    this.#rows.pop();
  }

  row(): void {
    if (this.#rows.length > 0) this.#rows[this.#rows.length - 1] = 0;
  }

  cell(): void {
    const count = this.#rows.pop();
    if (count === undefined) return;
    if (count > 0) this.text(" | ");
    this.#rows.push(count + 1);
  }

  openLink(href: string): void {
    this.closeLink();
    if (href !== "" && this.#verbatim === undefined) this.#link = { href, text: "" };
  }

  closeLink(): void {
    const link = this.#link;
    if (link === undefined) return;
    this.#link = undefined;
    const words = link.text.trim();
    const isPermalink = link.href.startsWith("#") && words.length <= 1;
    if (/^\s/.test(link.text)) this.#writer.write(" ");
    if (words !== "" && !isPermalink) this.#writer.write(this.#linked(words, link.href));
    if (/\s$/.test(link.text)) this.#writer.write(" ");
  }

  image(alt: string, src: string): void {
    const address = this.#link === undefined ? linkAddress(src, this.#base) : undefined;
    this.text(address === undefined ? alt : `![${alt}](${address})`);
  }

  openCode(language: string): void {
    if (this.#verbatim !== undefined) this.#verbatim.language = language;
    else if (!this.#isInCode) {
      this.text("`");
      this.#isInCode = true;
    }
  }

  closeCode(): void {
    if (!this.#isInCode || this.#verbatim !== undefined) return;
    this.#isInCode = false;
    this.text("`");
  }

  openVerbatim(language: string): void {
    this.closeLink();
    this.#verbatim ??= new Verbatim(language);
  }

  closeVerbatim(): void {
    const verbatim = this.#verbatim;
    if (verbatim === undefined) return;
    this.#verbatim = undefined;
    this.#writer.verbatim(verbatim.lines());
  }

  #forgetLink(): void {
    const text = this.#link?.text ?? "";
    this.#link = undefined;
    this.#writer.write(text);
  }

  #linked(text: string, href: string): string {
    const words = text.replace(/\s+/g, " ");
    const address = linkAddress(href, this.#base);
    if (address === undefined) return words;
    return address === words ? address : `[${words}](${address})`;
  }
}

const longestAddress = 2048;

/** The address that a page's reference leads to, as text; undefined when that is no other page. */
function linkAddress(reference: string, base: WebUrl): string | undefined {
  const written = reference.trim().replace(/[\t\n\r]/g, "");
  if (written === "" || written.startsWith("#") || written.length > longestAddress) return undefined;
  const address = resolveReference(written, base);
  if (!/^(?:https?:\/\/|mailto:)/i.test(address)) return undefined;
  return address.replace(/[\s()<>"]/g, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
