/** The type of `import about from "./read.md" with { type: "text" }`; the compiled binary contains the text. */
declare module "*.md" {
  const text: string;
  export default text;
}

declare module "*.jsonl" {
  const text: string;
  export default text;
}
