import { expect, test } from "bun:test";
import { nameRefusal } from "../../lib/egress/rules/decide.ts";
import { parseAuthority, parseHost } from "../../lib/egress/rules/host.ts";
import { rulesOf } from "../support/reach.ts";

const names = ["github.com", "a_b.example.com", "xn--bcher-kva.example"];
const addresses = ["1.1.1.1", "[2606:4700::1]"];
const exact = [...names, ...addresses];
const suffixes = [".githubusercontent.com", ".x.test"];
const rules = rulesOf({ allow: [...exact, ...suffixes.map((suffix) => `*${suffix}`)] });
const rounds = 30_000;

/** What is allowed, said a second time by other means: by the texts that may pass, and the platform's reader of URLs. */
function isMeant(text: string): boolean {
  if (addresses.includes(text)) return true;
  // The platform forgives a colon at the end of an address.
  if (/^\[[0-9a-fA-F:.]+\]$/.test(text) && !/[^:]:\]$/.test(text)) return addresses.includes(hostOf(text));
  const name = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(/\.$/, "");
  if (names.includes(name) || name === "bücher.example") return true;
  return suffixes.some((suffix) => name.endsWith(suffix) && isMeantLabel(name.slice(0, -suffix.length)));
}

function isMeantLabel(label: string): boolean {
  if (!/^(?:[a-z0-9_-]|(?![\0-\x7f])[\p{L}\p{M}\p{N}\p{S}])+$/u.test(label)) return false;
  // Nothing may make other letters of those of other scripts.
  if (label.normalize("NFKC").toLowerCase() !== label || /^-|-$/.test(label)) return false;
  const [ascii = ""] = hostOf(`${label}.test`).split(".");
  return ascii !== "" && ascii.length <= 63;
}

/** As a browser would have it; empty for what it takes for no host. */
function hostOf(text: string): string {
  return URL.canParse(`http://${text}`) ? new URL(`http://${text}`).host : "";
}

const pieces = [
  ...exact,
  ...suffixes,
  ..."raw objects evil evil.test com COM GitHub GITHUB.com xn-- xn--gthub-n2e bücher.example BÜCHER 1.1.1 127.1".split(
    " ",
  ),
  ..."0x7f 0177 2130706433 ::1 [::1] [ ] ::ffff:1.1.1.1 [2606:4700:0::1] 2606:4700::1 %lo localhost".split(" "),
  ..."a b 0 1 - _ -- . . . .. : :443 :80 / // \\ @ # ? & = % %00 %2e %2f * + , ; ' \" < > ( ) { } | ^ ` ~ ! $".split(
    " ",
  ),
  ..."。 ． ｡ ․ ｇ ｉ ⓖ і ɡ ı İ K ſ ß ẞ é \u0301 \u00ad \u200b \u200d \u200e \u202e \u2060 \ufeff \ufffd ½ ① １ ٣ 日本".split(
    " ",
  ),
  ..." ,\t,\n,\r,\r\n,\0,\x01,\x1f,\x7f,\x80,\x85,\xa0,\u2028,\u3000,\ud800,\udfff,😀".split(","),
];

/** A generator of numbers below a limit: the same numbers for the same seed. */
function dice(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** An allowed host with a few mistakes, or a few pieces in a row. */
function forge(below: (limit: number) => number): string {
  const piece = () => pieces[below(pieces.length)] ?? "";
  if (below(3) === 0) return Array.from({ length: 1 + below(5) }, piece).join("");
  const base = [...exact, ...suffixes.map((suffix) => piece() + suffix)][below(exact.length + suffixes.length)] ?? "";
  let text = base;
  for (let left = below(3); left > 0; left--) {
    const at = below(text.length + 1);
    text = text.slice(0, at) + (below(4) === 0 ? "" : piece()) + text.slice(at + below(2));
  }
  return below(4) === 0 ? text.toUpperCase() : text;
}

test(`of ${rounds} forged hosts exactly those are allowed that are meant`, () => {
  const below = dice(20_261);
  const wrong: string[] = [];
  const allowed = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    const text = forge(below);
    const host = parseHost(text);
    const isAllowed = !("fault" in host) && nameRefusal({ host, port: 443 }, rules) === undefined;
    // An address of IPv6 alone may stand without brackets; the model knows it only with them.
    const meant = isMeant(text) || isMeant(`[${text}]`);
    if (isAllowed !== meant) wrong.push(JSON.stringify({ text, isAllowed }));
    if (isAllowed) allowed.add(text);
  }
  expect(wrong).toEqual([]);
  // Else the test would prove nothing.
  expect(allowed.size).toBeGreaterThan(50);
});

test("with a port the same hosts are allowed, at the ports that are meant", () => {
  const below = dice(7);
  const wrong: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const host = forge(below);
    const port = ["443", "80", "8080", "0", "65536", "٤٤٣", "443 ", "0443", "", "80:443"][below(10)] ?? "";
    const target = parseAuthority(`${host}:${port}`);
    const isAllowed = !("fault" in target) && nameRefusal(target, rules) === undefined;
    if (isAllowed !== (isMeant(host) && (port === "443" || port === "80"))) wrong.push(JSON.stringify({ host, port }));
  }
  expect(wrong).toEqual([]);
});

test("whatever is refused is refused with one line of ASCII", () => {
  const below = dice(99);
  for (let round = 0; round < rounds; round++) {
    const host = parseHost(forge(below));
    const reason = "fault" in host ? host.fault : nameRefusal({ host, port: 1 + below(65_535) }, rules);
    if (reason !== undefined) expect(reason).toMatch(/^[ -~]+$/);
  }
});
