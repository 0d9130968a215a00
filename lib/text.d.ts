/** What `import about from "./read.md" with { type: "text" }` gives; in the compiled binary it is part of the code. */
declare module "*.md" {
  const text: string;
  export default text;
}

declare module "*.jsonl" {
  const text: string;
  export default text;
}
