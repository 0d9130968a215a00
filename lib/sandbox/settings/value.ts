/**
 * The value of a setting without the credentials in its addresses, so that the address itself stays known: a registry
 * then refuses the request, where without any address a tool would ask the public one. Undefined when an address in it
 * cannot be read.
 */
export function withoutCredentials(value: string): string | undefined {
  if (/PRIVATE KEY|^\s*(basic|bearer)\s/i.test(value)) return undefined;
  const pieces = value.split(separators).map((piece, index) => (index % 2 === 0 ? publicPiece(piece) : piece));
  if (pieces.includes(undefined)) return undefined;
  const left = pieces.join("");
  // A credential in a form that is none of those above.
  return /_auth|token|passw|secret|api[-_]?key/i.test(left) ? "redacted" : left;
}

/** Between addresses: a comma may also be a part of a password, and then no address follows it. */
const separators = /(\s+|[,|](?=[a-z][a-z\d+.-]*:\/\/|direct\b|off\b|none\b))/i;

/** `name=URL` is how some lists call their entries. */
const named = /^([\w.-]+=)?([a-z][a-z\d+.-]*:\/\/.*)$/i;
/** Everyone talks to a git server by this name, with a key of their own. */
const gitAddress = /^git@[\w.-]+:[\w./~-]+$/;

const scope = /^@[\w.~-]+(\/[\w.~-]*)?$/;

/** The end of a login without a scheme, as in `token@proxy:3128`; `react@18.2.0` has none. */
const host = /^(([\w-]+\.)+[a-z]{2,}(:\d+)?|[\w.-]+:\d+|(\d{1,3}\.){3}\d{1,3})(\/|$)/i;

function publicPiece(piece: string): string | undefined {
  // One address in another: which of them has the login cannot be told.
  if (piece.indexOf("://") !== piece.lastIndexOf("://")) return undefined;
  const [, name = "", address] = named.exec(piece) ?? [];
  if (address !== undefined) {
    const url = publicUrl(address);
    return url && name + url;
  }
  if (gitAddress.test(piece) || scope.test(piece)) return piece;
  const at = piece.lastIndexOf("@");
  const [before, after] = [piece.slice(0, Math.max(0, at)), piece.slice(at + 1)];
  return /^\/\/|:/.test(before) || (at > 0 && host.test(after)) ? after : piece;
}

function publicUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null) return undefined;
  const { username, password, search, hash, pathname } = url;
  const parts = pathname.split("/");
  const path = parts.map((part, index) => (isSecretLike(part, parts[index - 1]) ? "redacted" : part));
  const needsUser = url.protocol.includes("ssh");
  if ((username === "" || needsUser) && password + search + hash === "" && path.join("/") === pathname) return text;
  url.password = url.search = url.hash = "";
  if (!needsUser) url.username = "";
  url.pathname = path.join("/");
  return url.href;
}

/** Some registries take a token as a part of the path; names of people and packages are hardly ever like this. */
function isSecretLike(part: string, before = ""): boolean {
  if (!/^[\w.~%@-]*$/.test(part) || (part !== "" && /^(auth|t)$/i.test(before))) return true;
  return part.split(/[-_.~%]/).some((word) => /^(?=.*\d)(?=.*[a-z])[a-z\d]{16,}$/i.test(word));
}
