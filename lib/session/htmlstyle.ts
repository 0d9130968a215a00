/** For a phone, a wide screen, either brightness, and paper. */
export const style = `
:root {
  color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif;
  --text: #1f2328; --page: #fff; --quiet: #59636e; --line: #d1d9e0; --code: #f3f5f7; --prompt: #eaf2fd;
  --good: #1a7f37; --bad: #cf222e; --link: #0969da;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6edf3; --page: #0d1117; --quiet: #9198a1; --line: #3d444d; --code: #1a2029; --prompt: #14233a;
    --good: #3fb950; --bad: #f85149; --link: #58a6ff;
  }
}
body { max-width: 52rem; margin: 0 auto; padding: 1rem 1rem 4rem; color: var(--text); background: var(--page);
  overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { margin: 2.5rem 0 1rem; padding-top: 0.75rem; border-top: 1px solid var(--line); font-size: 1.1rem; }
h3, h4, h5, h6 { margin: 1.25rem 0 0.5rem; font-size: 1.05rem; line-height: 1.3; }
h3 { font-size: 1.25rem; }
time { color: var(--quiet); font-size: 0.85rem; font-weight: normal; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; color: var(--quiet); font-size: 0.85rem; }
dd { margin: 0; }
a { color: var(--link); }
img { max-width: 100%; }
pre, code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 0.85rem; }
pre { margin: 0.5rem 0; padding: 0.6rem 0.8rem; border-radius: 0.4rem; background: var(--code); line-height: 1.45;
  white-space: pre-wrap; }
:not(pre) > code { padding: 0.1em 0.3em; border-radius: 0.25rem; background: var(--code); }
.answer p, .answer li, .thinking p, .thinking li { white-space: pre-line; }
.wide { overflow-x: auto; }
table { margin: 0.75rem 0; border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.3rem 0.7rem; border: 1px solid var(--line); text-align: left; overflow-wrap: normal; }
blockquote { margin: 0.5rem 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--quiet); }
li.task { list-style: none; margin-left: -1.2rem; }
summary { cursor: pointer; }
.prompt { padding: 0.5rem 1rem; border-radius: 0.5rem; background: var(--prompt); }
.prompt pre { padding: 0; background: none; font: inherit; }
.thinking { margin: 0.75rem 0; }
.call { margin: 1rem 0 0.25rem; font-size: 0.9rem; }
.call > summary > code { background: none; padding: 0; }
.field { margin-top: 0.4rem; color: var(--quiet); font-size: 0.8rem; }
.result { margin: 0.25rem 0 1rem; padding-left: 0.8rem; border-left: 3px solid var(--line); font-size: 0.9rem; }
.result pre { margin: 0.25rem 0; }
.agent { margin: 0.5rem 0 1rem; padding-left: 0.8rem; border-left: 3px solid var(--line); }
.result > summary, .agent > summary, .thinking { color: var(--quiet); font-size: 0.9rem; }
.good { color: var(--good); }
.bad, .ending { color: var(--bad); }
@media print {
  body { max-width: none; padding: 0; font-size: 11px; }
  h2 { break-after: avoid; }
  pre, .prompt { border: 1px solid var(--line); }
  details::details-content { content-visibility: visible; block-size: auto; }
  a::after { content: " (" attr(href) ")"; }
}
`;
