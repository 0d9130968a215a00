/**
 * The value of a setting without the credentials in its addresses, so that the address itself stays known: a registry
 * then refuses the request, where without any address a tool would ask the public one. Undefined when an address in it
 * cannot be read.
 */
export function withoutCredentials(value: string): string | undefined {
  if (/PRIVATE KEY|^\s*(basic|bearer)\s/i.test(value)) return undefined;
  const pieces = value.split(separators).map((piece, index) => (index % 2 === 0 ? publicPiece(piece) : piece));
  return pieces.includes(undefined) ? undefined : pieces.join("");
}

/** Between addresses: a comma may also be a part of a password, and then no address follows it. */
const separators = /(\s+|[,|](?=[a-z][a-z\d+.-]*:\/\/|direct\b|off\b|none\b))/i;

/** `name=URL` is how some lists call their entries. */
const named = /^([\w.-]+=)?([a-z][a-z\d+.-]*:\/\/.*)$/i;
/** Everyone talks to a git server by this name, with a key of their own. */
const gitAddress = /^git@[\w.-]+:[\w./~-]+$/;

/** The login in `user:password@host` and `token@host.example`, two ways to write a proxy. */
const loginWithoutScheme = /^[^/@\s]*:.*@|^[^/@\s]+@(?=([\w-]+\.)+[a-z]{2,}(:\d+)?(\/|$))/i;

function publicPiece(piece: string): string | undefined {
  const [, name = "", address] = named.exec(piece) ?? [];
  if (address !== undefined) {
    const url = publicUrl(address);
    return url && name + url;
  }
  if (gitAddress.test(piece)) return piece;
  return piece.replace(loginWithoutScheme, "");
}

function publicUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null) return undefined;
  const { username, password, search, hash, pathname } = url;
  const path = pathname.split("/").map((part) => (isSecretLike(part) ? "redacted" : part));
  const needsUser = url.protocol.includes("ssh");
  if ((username === "" || needsUser) && password + search + hash === "" && path.join("/") === pathname) return text;
  url.password = url.search = url.hash = "";
  if (!needsUser) url.username = "";
  url.pathname = path.join("/");
  return url.href;
}

/** Some registries take a token as a part of the path; names of people and packages are hardly ever like this. */
function isSecretLike(part: string): boolean {
  return part.split(/[-_.~%]/).some((word) => /^(?=.*\d)(?=.*[a-z])[a-z\d]{16,}$/i.test(word));
}
