import { type Block, figuresOf, type Section, sectionsOf, titleOf, type DocumentWriter } from "./document.ts";

export const markdown: DocumentWriter = {
  begin: (info) => {
    const figures = figuresOf(info).map(([name, value]) => `- ${name}: \`${value.replaceAll("`", "'")}\``);
    return `# ${inline(titleOf(info))}\n\n${figures.join("\n")}\n`;
  },
  *items(items) {
    for (const section of items.flatMap(sectionsOf)) yield `\n${markdownOf(section)}\n`;
  },
  end: "",
};

function markdownOf(section: Section): string {
  switch (section.type) {
    case "turn":
      return `## Turn ${section.turn}\n\n*${section.at}*`;
    case "prompt":
      return `**Prompt**\n\n${section.blocks.map((block) => quoted(plainBlock(block))).join("\n\n")}`;
    case "answer":
      return section.blocks.map(plainBlock).join("\n\n");
    case "thinking":
      return `*Thinking*\n\n${section.blocks.map((block) => quoted(plainBlock(block))).join("\n\n")}`;
    case "ending":
      return section.blocks.map((block) => `*${inline(plainBlock(block))}*`).join("\n\n");
    case "call":
    case "result":
      return `**${inline(section.heading)}**\n\n${section.blocks.map((block) => fenced(plainBlock(block))).join("\n\n")}`;
    default:
      return section satisfies never;
  }
}

function plainBlock(block: Block): string {
  return "text" in block ? block.text : `[${block.image.mime} image]`;
}

function quoted(text: string): string {
  return text.replace(/^/gm, "> ");
}

/** The fence is longer than any run of backticks in the text, so nothing in it can end it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** One line without markup of its own. */
function inline(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_[\]<>#|]/g, "\\$&");
}
