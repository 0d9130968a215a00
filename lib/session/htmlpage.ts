import { escaped } from "./htmltext.ts";

type Page = {
  title: string;
  style: string;
  /** Directives of its security policy for all that it uses beside its own style. */
  allows: string;
};

/** The beginning of a page that needs nothing else, and forbids itself the network and everything it does not name. */
export function pageHead({ title, style, allows }: Page): string {
  const rules = `default-src 'none'; style-src ${hashForPolicy(style)}; ${allows}; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${rules}">
<meta name="referrer" content="no-referrer">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
`;
}

export function hashForPolicy(text: string): string {
  return `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`;
}
