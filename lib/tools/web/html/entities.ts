/** Text as a reader sees it: character references replaced. What is no reference stays as it was written. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(reference, (whole, number: string | undefined, name: string) =>
    number === undefined ? (named(name) ?? whole) : ofNumber(number),
  );
}

/** Only numbers may do without the semicolon: in an address, `&copy=` is a parameter and no sign. */
const reference = /&(?:(#\d{1,8}|#x[\da-f]{1,8});?|([a-z][a-z\d]{1,30});)/gi;

const replacement = "\uFFFD";

function named(name: string): string | undefined {
  names ??= allNames();
  return names.get(name);
}

/** A character that no text needs (an escape for terminals, half a character) becomes U+FFFD. */
function ofNumber(name: string): string {
  const given = Number.parseInt(name.replace(/^#x?/i, ""), /^#x/i.test(name) ? 16 : 10);
  const code = given >= 0x80 && given <= 0x9f ? (windows[given - 0x80] ?? 0) : given;
  const isText = code === 9 || code === 10 || code === 13 || (code >= 32 && code !== 0x7f);
  const isCharacter = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isText && isCharacter ? String.fromCodePoint(code) : replacement;
}

/** Pages of old number these as Windows-1252 does. */
const windows = [
  ...new TextDecoder("windows-1252").decode(Uint8Array.from({ length: 32 }, (_, index) => 0x80 + index)),
].map((letter) => letter.codePointAt(0) ?? 0);

let names: ReadonlyMap<string, string> | undefined;

/** Those of HTML 4, and the signs of ASCII. Of the two thousand others pages use the characters themselves. */
function allNames(): Map<string, string> {
  const found = new Map<string, string>();
  for (const [start, list] of [
    [0xa0, latin],
    [0x391, capitals],
    [0x3b1, small],
  ] as const) {
    for (const [index, name] of list.trim().split(/\s+/).entries())
      found.set(name, String.fromCodePoint(start + index));
  }
  const words = others.trim().split(/\s+/);
  for (let at = 0; at < words.length; at += 2) found.set(words[at] ?? "", words[at + 1] ?? "");
  for (const [name, code] of Object.entries(invisible)) found.set(name, String.fromCodePoint(code));
  return found;
}

const invisible = { ensp: 0x2002, emsp: 0x2003, thinsp: 0x2009, zwnj: 0x200c, zwj: 0x200d, lrm: 0x200e, rlm: 0x200f };

/** From U+00A0 on. */
const latin = `
  nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute
  micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring
  AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml
  times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil
  egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash
  ugrave uacute ucirc uuml yacute thorn yuml
`;

/** From U+0391 on; where the sigma that ends a word would be, no capital is. */
const capitals = `
  Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho - Sigma Tau Upsilon
  Phi Chi Psi Omega
`;

/** From U+03B1 on. */
const small = `
  alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf sigma tau
  upsilon phi chi psi omega
`;

const others = `
  ndash – mdash — lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ lsaquo ‹ rsaquo › hellip … mldr … bull •
  dagger † Dagger ‡ permil ‰ prime ′ Prime ″ euro € trade ™ OElig Œ oelig œ Scaron Š scaron š Yuml Ÿ fnof ƒ circ
  ˆ tilde ˜ larr ← uarr ↑ rarr → darr ↓ harr ↔ crarr ↵ lArr ⇐ uArr ⇑ rArr ⇒ dArr ⇓ hArr ⇔ forall ∀ part ∂ exist
  ∃ empty ∅ nabla ∇ isin ∈ notin ∉ ni ∋ prod ∏ sum ∑ minus − lowast ∗ radic √ prop ∝ infin ∞ ang ∠ and ∧ or ∨
  cap ∩ cup ∪ int ∫ there4 ∴ sim ∼ cong ≅ asymp ≈ ne ≠ equiv ≡ le ≤ ge ≥ sub ⊂ sup ⊃ nsub ⊄ sube ⊆ supe ⊇ oplus
  ⊕ otimes ⊗ perp ⊥ sdot ⋅ lceil ⌈ rceil ⌉ lfloor ⌊ rfloor ⌋ lang ⟨ rang ⟩ loz ◊ spades ♠ clubs ♣ hearts ♥ diams
  ♦ check ✓ cross ✗ star ☆ starf ★ vellip ⋮ quot " apos ' lt < gt > amp & AMP & LT < GT > QUOT " num # dollar $
  percnt % ast * plus + comma , period . sol / colon : semi ; equals = quest ? excl ! commat @ lpar ( rpar )
  lsqb [ lbrack [ rsqb ] rbrack ] lcub { lbrace { rcub } rbrace } bsol \\ lowbar _ vert | verbar | Hat ^
  horbar ― dash ‐
`;
