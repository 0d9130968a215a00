const opening = "<think>";
const closing = "</think>";

/** A part of a reply's content: `block` is a whole thought with its tags, as it has to go back. */
export type TaggedText = { thinking: string; text: string; block?: string };

const nothing: TaggedText = { thinking: "", text: "" };

/**
 * The thought that some servers leave in the content, between tags at the start of a reply: MiniMax does, and servers
 * without a parser for the model's thoughts. The white space around it belongs to it.
 */
export class ThinkTag {
  #state: "start" | "inside" | "closed" | "text" = "start";
  readonly #block: string[] = [];
  /** The end of what came, which may be the beginning of a tag. */
  #held = "";

  /** Splits a piece of content, which may begin and end anywhere. */
  split(piece: string): TaggedText {
    const content = this.#held + piece;
    this.#held = "";
    switch (this.#state) {
      case "start":
        return this.#atStart(content);
      case "inside":
        return this.#inside(content);
      case "closed":
        return this.#afterwards(content);
      case "text":
        return { thinking: "", text: content };
      default:
        return this.#state satisfies never;
    }
  }

  /** The rest of a reply that is over. */
  end(): TaggedText {
    const [state, held] = [this.#state, this.#held];
    [this.#state, this.#held] = ["text", ""];
    if (state === "start") return { thinking: "", text: held };
    return state === "text" ? nothing : { ...nothing, block: this.#block.join("") + held };
  }

  #atStart(content: string): TaggedText {
    const begun = content.trimStart();
    if (begun.startsWith(opening)) {
      const from = content.length - begun.length + opening.length;
      this.#state = "inside";
      this.#block.push(content.slice(0, from));
      return this.#inside(content.slice(from));
    }
    this.#held = content;
    return opening.startsWith(begun) ? nothing : this.end();
  }

  #inside(content: string): TaggedText {
    const end = content.indexOf(closing);
    const thinking = content.slice(0, end === -1 ? content.length - begunTag(content) : end);
    this.#block.push(thinking);
    if (end === -1) {
      this.#held = content.slice(thinking.length);
      return { thinking, text: "" };
    }
    this.#state = "closed";
    this.#block.push(closing);
    return { ...this.#afterwards(content.slice(end + closing.length)), thinking };
  }

  #afterwards(content: string): TaggedText {
    const text = content.trimStart();
    this.#block.push(content.slice(0, content.length - text.length));
    return text === "" ? nothing : { ...this.end(), text };
  }
}

/** The length of a closing tag that has begun at the end of the text. */
function begunTag(text: string): number {
  const lengths = Array.from({ length: closing.length - 1 }, (_, index) => closing.length - 1 - index);
  return lengths.find((length) => text.endsWith(closing.slice(0, length))) ?? 0;
}
