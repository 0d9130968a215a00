import type { FinishReason } from "../../lib/model/model.ts";

/**
 * A recorded reply as its wire's documentation has it read. None of the figures came from koda, so that its parsers do
 * not confirm themselves.
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
  /** The next request repeats these byte for byte: names of fields, each with the texts that it holds there. */
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
  // Two replies, of which the second has another id.
  "chat-cerebras-cererebras-structured-output-tools.1 #1": {
    thinking: "423 46f199abdc99",
    calls: [["bbd2b9d98", "nonUsefulTool", "{}"]],
    usage: [322, 256, 104, 97],
    finish: "calls",
    back: { reasoning: ["423 46f199abdc99"] },
  },
  "chat-cerebras-cererebras-structured-output-tools.1 #2": {
    text: "18 10de3ffa03d5",
    thinking: "461 3f7580c61bb0",
    calls: [["e0ecf32e0", "nonUsefulTool", "{}"]],
    usage: [433, 256, 122, 108],
    finish: "calls",
    back: { reasoning: ["461 3f7580c61bb0"] },
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
    back: { reasoning_content: ["191 e9e5190a993c"] },
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
  // The provider says 2 tokens of output and 340 of reasoning, of 354 in all.
  "chat-openai-compatible-xai-text": {
    text: "4 dca61d32363b",
    thinking: "1455 822137627c21",
    usage: [12, 11, 342, 340],
    finish: "stop",
  },
  // Cut by hand: most of the text is missing, of which usage counts all.
  "chat-perplexity-citations": { text: "34 602a838182e6", usage: [10, null, 336, null], finish: "stop" },
  // Cut by hand: most of the thinking is missing.
  "chat-xai-text": { text: "5 185f8db32271", thinking: "20 77ca8189f8c5", usage: [12, 11, 291, 290], finish: "stop" },
  "messages-anthropic-advisor-20250301.1": { text: "11250 564515cb9dfb", usage: [4727, 0, 3391, null], finish: "stop" },
  // No text at all: what the provider's other model said is a result of its own tool.
  "messages-anthropic-advisor-stop-reasons": { usage: [10, 0, 20, null], finish: "stop" },
  "messages-anthropic-clear-thinking.1": {
    text: "13 71ff7ea726e9",
    thinking: "75 9367a725eb1e",
    usage: [69, 0, 53, null],
    finish: "stop",
  },
  "messages-anthropic-clear-tool-uses.1": { text: "440 8cb57585a8dd", usage: [859, 0, 122, null], finish: "stop" },
  "messages-anthropic-code-execution-20250825.1": {
    text: "795 7b49d61166e9",
    usage: [8050, 0, 771, null],
    finish: "stop",
  },
  "messages-anthropic-code-execution-20250825.2": {
    text: "1793 ce2530971a55",
    usage: [15696, 0, 2479, null],
    finish: "stop",
  },
  "messages-anthropic-code-execution-20250825.pptx-skill": {
    text: "2870 10e0b2b86c23",
    usage: [320032, 0, 5558, null],
    finish: "stop",
  },
  "messages-anthropic-combined-context-editing.1": {
    text: "362 cfcc38f0784e",
    thinking: "563 49269034731b",
    usage: [50, 0, 485, null],
    finish: "stop",
  },
  // Usage of the summary that the provider made first is told apart, and not counted.
  "messages-anthropic-compaction.1": { text: "8518 684d36d33414", usage: [612, 0, 2819, null], finish: "stop" },
  "messages-anthropic-fallback": { text: "66 2a5065da5cff", usage: [412, 0, 264, null], finish: "stop" },
  "messages-anthropic-json-other-tool.1": {
    calls: [["toolu_019Zvehfe1XQWweT1pm7okyt", "weather", '{"location": "San Francisco"}']],
    usage: [843, 0, 28, null],
    finish: "calls",
  },
  "messages-anthropic-json-output-format.1": { text: "1267 0796715649bb", usage: [313, 0, 305, null], finish: "stop" },
  "messages-anthropic-json-tool.1": {
    calls: [
      [
        "toolu_01KFbKqPYSuAKujiL6mTfzYA",
        "json",
        '{"elements": [{"location": "San Francisco", "temperature": 58, "condition": "sunny"}]}',
      ],
    ],
    usage: [849, 0, 47, null],
    finish: "calls",
  },
  "messages-anthropic-mcp.1": { text: "112 8cfb90f42d9f", usage: [1250, 0, 83, null], finish: "stop" },
  "messages-anthropic-message-delta-input-tokens": {
    text: "4 9795c5ff8937",
    usage: [61, null, 2, null],
    finish: "stop",
  },
  // One conversation: the provider runs a program of the model, whose calls come whole at the start of a message.
  "messages-anthropic-programmatic-tool-calling.1 #1": {
    text: "157 b2cc643922cf",
    calls: [["toolu_019jKkXz4jAdwHweHBw92CVY", "rollDie", '{"player":"player1"}']],
    usage: [3369, 0, 725, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #2": {
    calls: [["toolu_015dGLMbwBKv1ZRQr6KdJzeH", "rollDie", '{"player":"player2"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #3": {
    calls: [["toolu_01YYqBNq5mk1wMtv3PAqY44m", "rollDie", '{"player":"player1"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #4": {
    calls: [["toolu_018WxjDkQG8h7i63poySGT2x", "rollDie", '{"player":"player2"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #5": {
    calls: [["toolu_014ch4D3vbx928ddwxMvMvF1", "rollDie", '{"player":"player1"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #6": {
    calls: [["toolu_01QtZ46GWS93Z5ZaSifgGNnq", "rollDie", '{"player":"player2"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #7": {
    calls: [["toolu_012Zvp8FdgvjVGkmbHSU4EZk", "rollDie", '{"player":"player1"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #8": {
    calls: [["toolu_01CMz8Jhv6EfnzHQzEMdpHut", "rollDie", '{"player":"player2"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #9": {
    calls: [["toolu_01PfH6ADzq8Yct5jeRY9QkS2", "rollDie", '{"player":"player1"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #10": {
    calls: [["toolu_013DE3qaKvBMheZXUhwkvpdF", "rollDie", '{"player":"player2"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #11": {
    calls: [["toolu_01MTRMy9BEvFHWR7hpCWc4nJ", "rollDie", '{"player":"player1"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #12": {
    calls: [["toolu_01CXqv27ozPihE5nj6eA3Joc", "rollDie", '{"player":"player2"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #13": {
    calls: [["toolu_01K6ST6orjmPHHwM8rwLj1n9", "rollDie", '{"player":"player1"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #14": {
    calls: [["toolu_01QcWWQcQ1pd7nx9xohX4zAr", "rollDie", '{"player":"player2"}']],
    usage: [0, null, 0, null],
    finish: "calls",
  },
  "messages-anthropic-programmatic-tool-calling.1 #15": {
    text: "676 69dca3413cd0",
    usage: [4551, 0, 197, null],
    finish: "stop",
  },
  "messages-anthropic-refusal": { usage: [18, 0, 5, null], finish: "filter" },
  // One conversation: two calls and the answer.
  "messages-anthropic-tool-search-deferred-bm25 #1": {
    text: "156 a6ac2d9d6593",
    calls: [["toolu_01U8pzAHj2vNdPCA2Kf8JjeN", "readNoteTree", '{"noteId": "d10aa585-982b-4bd9-984e-420f9b3717f7"}']],
    usage: [879, 0, 177, null],
    finish: "calls",
  },
  "messages-anthropic-tool-search-deferred-bm25 #2": {
    text: "225 94c7994fd02d",
    calls: [
      [
        "toolu_01QoRrvXNv6w4vZSyo9cnxP2",
        "executeEditorOperation",
        '{"noteId": "d10aa585-982b-4bd9-984e-420f9b3717f7", "operations": [\n  {\n    "op": "insert_node",\n    "type": "bulletedListItem",\n    "text": "bye",\n    "at": {\n      "type": "path",\n      "path": [1]\n    }\n  }\n]}',
      ],
    ],
    usage: [1398, 0, 213, null],
    finish: "calls",
  },
  "messages-anthropic-tool-search-deferred-bm25 #3": {
    text: "353 2ea02c336631",
    usage: [1639, 0, 95, null],
    finish: "stop",
  },
  // One conversation: two calls and the answer.
  "messages-anthropic-tool-search-deferred-regex #1": {
    text: "156 5ef4aa0b9595",
    calls: [["toolu_01WPkY6CkyJnFsaCqY7SZ9FX", "readNoteTree", '{"noteId": "d10aa585-982b-4bd9-984e-420f9b3717f7"}']],
    usage: [904, 0, 175, null],
    finish: "calls",
  },
  "messages-anthropic-tool-search-deferred-regex #2": {
    text: "223 ce4653b99d06",
    calls: [
      [
        "toolu_01UFHf8D27JBYu9FmrcjJk1p",
        "executeEditorOperation",
        '{"noteId": "d10aa585-982b-4bd9-984e-420f9b3717f7", "operations": [\n  {\n    "op": "insert",\n    "type": "bulletedListItem",\n    "text": "bye",\n    "at": {\n      "type": "after",\n      "path": [0]\n    }\n  }\n]}',
      ],
    ],
    usage: [1519, 0, 211, null],
    finish: "calls",
  },
  "messages-anthropic-tool-search-deferred-regex #3": {
    text: "425 fad8309e0b0e",
    usage: [1758, 0, 118, null],
    finish: "stop",
  },
  "messages-anthropic-web-fetch-tool.1": { text: "1664 4b3e7ab8fa3e", usage: [4230, 0, 446, null], finish: "stop" },
  "messages-anthropic-web-search-tool.1": { text: "2402 2c86b5f34a53", usage: [15665, 0, 795, null], finish: "stop" },
  "responses-azure-image-generation-tool.1": { text: "119 b774a41a5dfb", usage: [1979, 0, 67, 0], finish: "stop" },
  "responses-azure-openai-file-search-tool.2": {
    text: "380 79e346662018",
    usage: [3748, 2304, 543, 448],
    finish: "stop",
  },
  // One conversation: three calls and the answer.
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
  // Calls of tools that koda does not offer are no calls for it: a patch, a search, a shell, an approval.
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
  // One conversation: a call of the provider's own shell and the answer.
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
