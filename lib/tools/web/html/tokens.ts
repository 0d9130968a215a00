import { Tokenizer } from "htmlparser2";

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
 * and with nothing else. (The package's parser keeps a stack of open elements, and looks through all of it at an end
 * tag that closes none: a page of a megabyte would hold koda for minutes. Its tokenizer has no stack.)
 */
export function readHtml(html: string, visitor: Visitor): void {
  let text = "";
  let tag = "";
  let attribute = "";
  let value: string | undefined;
  let attributes = new Map<string, string>();

  const endText = () => {
    const whole = text;
    text = "";
    if (whole !== "" && !visitor.isFull) visitor.text(whole);
    if (visitor.isFull) tokenizer.pause();
  };
  const open = (isSelfClosing: boolean) => {
    const found = attributes;
    if (tokenizer.running) visitor.open(tag, { get: (name) => found.get(name), isSelfClosing });
  };
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => void (text += html.slice(start, end)),
      ontextentity: (code) => void (text += characterOf(code)),
      onopentagname(start, end) {
        endText();
        tag = html.slice(start, end).toLowerCase();
        attributes = new Map();
      },
      onattribname(start, end) {
        attribute = html.slice(start, end).toLowerCase();
        // The first of a name counts, as everywhere.
        value = wanted.has(attribute) && !attributes.has(attribute) ? "" : undefined;
      },
      onattribdata(start, end) {
        if (value !== undefined) value += html.slice(start, end);
      },
      onattribentity(code) {
        if (value !== undefined) value += characterOf(code);
      },
      onattribend() {
        if (value !== undefined) attributes.set(attribute, value);
      },
      onopentagend: () => open(false),
      onselfclosingtag: () => open(true),
      onclosetag(start, end) {
        endText();
        if (tokenizer.running) visitor.close(html.slice(start, end).toLowerCase());
      },
      onend: endText,
      oncomment() {},
      oncdata() {},
      ondeclaration() {},
      onprocessinginstruction() {},
    },
  );
  tokenizer.write(html);
  tokenizer.end();
}

/** Only these are kept: a tag may have a hundred thousand. */
const wanted = new Set(["href", "src", "alt", "class", "hidden", "role", "aria-hidden", "start"]);

/** A character that no text needs, such as an escape for terminals, becomes U+FFFD. */
function characterOf(code: number): string {
  return String.fromCodePoint(code).replace(/(?![\t\n\r])\p{Cc}/u, "\uFFFD");
}
