import type { FinishReason } from "../../lib/model/model.ts";

/**
 * A recorded reply as its wire's documentation has it read. None of the figures came from koda, so that its parsers do not
 * confirm themselves.
 */
export type Figures = {
  /** The length of the text and how its SHA-256 begins; absent without text. */
  text?: string;
  thinking?: string;
  /** Id, tool, and arguments byte for byte. */
  calls?: readonly (readonly [string, string, string])[];
  /** Input, of which cached, output, of which reasoning. */
  usage: readonly [number | null, number | null, number | null, number | null];
  finish: FinishReason;
  /** What the next request repeats byte for byte: names of fields, each with the texts that it holds there. */
  back?: Readonly<Record<string, readonly string[]>>;
};

export const figures: Readonly<Record<string, Figures>> = {
  "chat-alibaba-reasoning": {
    text: "816 7c7a59b12a79",
    thinking: "3301 0aa0c3bc04e9",
    usage: [24, 0, 1355, 1084],
    finish: "stop",
  },
  "chat-alibaba-text": { text: "3771 aa86fa88ea07", usage: [18, 0, 779, null], finish: "stop" },
  "chat-alibaba-tool-call": {
    calls: [["call_eee11723464a4b9eb8cee71d", "weather", '{"location": "San Francisco"}']],
    usage: [295, 0, 22, null],
    finish: "calls",
  },
  "chat-cerebras-cererebras-structured-output-tools.1 #1": {
    thinking: "423 46f199abdc99",
    calls: [["bbd2b9d98", "nonUsefulTool", "{}"]],
    usage: [322, 256, 104, 97],
    finish: "calls",
  },
  "chat-cerebras-cererebras-structured-output-tools.1 #2": {
    text: "18 10de3ffa03d5",
    thinking: "461 3f7580c61bb0",
    calls: [["e0ecf32e0", "nonUsefulTool", "{}"]],
    usage: [433, 256, 122, 108],
    finish: "calls",
  },
  "chat-deepseek-reasoning": {
    text: "42 238e36f474e5",
    thinking: "606 01a5d04ca7e8",
    usage: [18, 0, 219, 205],
    finish: "stop",
  },
  "chat-deepseek-tool-call": {
    thinking: "191 e9e5190a993c",
    calls: [["call_00_ioIn7yN9p1ZOMNpDLwd4MgAF", "weather", '{"location": "San Francisco"}']],
    usage: [339, 320, 83, 39],
    finish: "calls",
  },
  "chat-groq-tool-call": { calls: [["tk85n1k4m", "weather", "{}"]], usage: [210, null, 15, null], finish: "calls" },
  "chat-mistral-reasoning": {
    text: "9 e93dff0d1076",
    thinking: "60 3ee98375cfe6",
    usage: [10, null, 46, null],
    finish: "stop",
  },
  "chat-mistral-text": { text: "38 6f535b2dbeda", usage: [13, null, 8, null], finish: "stop" },
  "chat-mistral-tool-call": {
    calls: [["gSIMJiOkT", "weather", '{"location": "San Francisco"}']],
    usage: [124, null, 22, null],
    finish: "calls",
  },
  "chat-moonshotai-stream": {
    text: "6 334d016f755c",
    thinking: "16 7e3fc13c32e8",
    usage: [9, null, 12, 7],
    finish: "stop",
  },
  "chat-openai-azure-model-router.1": { text: "19 53f836c9fbda", usage: [15, 0, 78, 64], finish: "stop" },
  "chat-openai-compatible-xai-text": {
    text: "4 dca61d32363b",
    thinking: "1455 822137627c21",
    usage: [12, 11, 342, 340],
    finish: "stop",
  },
  "chat-perplexity-citations": { text: "34 602a838182e6", usage: [10, null, 336, null], finish: "stop" },
  "chat-xai-text": { text: "5 185f8db32271", thinking: "20 77ca8189f8c5", usage: [12, 11, 291, 290], finish: "stop" },
  "responses-azure-image-generation-tool.1": { text: "119 b774a41a5dfb", usage: [1979, 0, 67, 0], finish: "stop" },
  "responses-azure-openai-file-search-tool.2": {
    text: "380 79e346662018",
    usage: [3748, 2304, 543, 448],
    finish: "stop",
  },
  "responses-azure-reasoning-encrypted-content.1 #1": {
    thinking: "455 57fc8b05e50f",
    calls: [["call_UdvUeOElp5zdU0DKr6IoyhjE", "calculator", '{"a":12,"b":7,"op":"add"}']],
    usage: [137, 0, 28, 0],
    finish: "calls",
    back: { encrypted_content: ["1188 b18cec930367"] },
  },
  "responses-azure-reasoning-encrypted-content.1 #2": {
    calls: [["call_Qm7RkNSRinyfYLyTUPXLrgH5", "calculator", '{"a":19,"b":3,"op":"multiply"}']],
    usage: [237, 0, 26, 0],
    finish: "calls",
  },
  "responses-azure-reasoning-encrypted-content.1 #3": {
    calls: [["call_axaLIcwBQwyb49kT8613pJxW", "calculator", '{"a":57,"b":10,"op":"multiply"}']],
    usage: [276, 0, 26, 0],
    finish: "calls",
  },
  "responses-azure-reasoning-encrypted-content.1 #4": {
    text: "28 f0bb39f8205b",
    usage: [315, 0, 12, 0],
    finish: "stop",
  },
  "responses-azure-text.1": { text: "5 185f8db32271", usage: [11, 0, 11, 0], finish: "stop" },
  "responses-open-responses-lmstudio-tool-call.1": {
    text: "67 04ed194b7d36",
    thinking: "242 ea86985de664",
    calls: [["call_2025306790300011", "weather", '{"location":"San Francisco"}']],
    usage: [182, 2, 61, 48],
    finish: "calls",
  },
  "responses-open-responses-lmstudio-tool-call.2": {
    text: "67 04ed194b7d36",
    thinking: "241 b80890303282",
    calls: [["call_3466696471230001", "weather", '{"location":"San Francisco"}']],
    usage: [182, 52, 60, 47],
    finish: "calls",
  },
  "responses-open-responses-openai-pdf-input-file.1": { text: "14 41417fb420a7", usage: [44, 0, 4, 0], finish: "stop" },
  "responses-openai-apply-patch-tool.1": { usage: [642, 0, 67, 0], finish: "stop" },
  "responses-openai-client-tool-search.1": { usage: [65, 0, 31, 0], finish: "stop" },
  "responses-openai-code-interpreter-tool.1": {
    text: "596 e63f8a3fd5c5",
    usage: [6047, 2944, 1623, 1408],
    finish: "stop",
  },
  "responses-openai-file-search-tool.1": { text: "383 a39952f12b73", usage: [3737, 2304, 621, 512], finish: "stop" },
  "responses-openai-image-generation-tool.1": { usage: [2941, 1920, 1249, 1024], finish: "stop" },
  "responses-openai-local-shell-tool.1": { usage: [407, 0, 151, 128], finish: "stop" },
  "responses-openai-mcp-tool-approval.1": { usage: [422, 0, 48, 0], finish: "stop" },
  "responses-openai-mcp-tool-approval.3": { usage: [609, 0, 48, 0], finish: "stop" },
  "responses-openai-programmatic-tool-calling.2": {
    calls: [["call_8GZvm5Bs4q0YSJIFH8hZeIcp", "getDemand", '{"sku":"sku_123"}']],
    usage: [0, 0, 0, 0],
    finish: "calls",
  },
  "responses-openai-programmatic-tool-calling.3": { text: "127 8e65c893eed5", usage: [757, 0, 35, 0], finish: "stop" },
  "responses-openai-shell-container-multiturn.1": { text: "50 dd6c6d1043d2", usage: [802, 0, 20, 0], finish: "stop" },
  "responses-openai-shell-skills.1": { text: "951 7e24e845038b", usage: [1501, 1024, 314, 100], finish: "stop" },
  "responses-openai-shell-tool.1 #1": { usage: [145, 0, 41, 0], finish: "stop" },
  "responses-openai-shell-tool.1 #2": { text: "426 a1565f2607db", usage: [331, 0, 166, 0], finish: "stop" },
  "responses-openai-tool-search.1": {
    calls: [["call_pddfxhfOx4gY56zn4vIIEbFp", "get_weather", '{"location":"San Francisco, CA","unit":"fahrenheit"}']],
    usage: [640, 0, 46, 20],
    finish: "calls",
  },
  "responses-openai-web-search-tool.1": { text: "3645 d24e6afa4689", usage: [31073, 3712, 4416, 3712], finish: "stop" },
  "responses-xai-web-search-tool.1": { text: "1228 aaedcde3798b", usage: [1875, 1578, 695, 397], finish: "stop" },
};

/** Length and hash, in the form of the table. */
export function figure(text: string): string {
  return `${text.length} ${new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 12)}`;
}
