import { expect, test } from "bun:test";
import { watchForKeys } from "../../lib/engine/exposure.ts";

const value = "sk-0123456789abc";

test("a key in a tool's result is told with its source, once, and nothing else is", () => {
  for (const [key, source] of [
    [{ value, variable: "CORP_KEY" }, "CORP_KEY"],
    [{ value }, "api_key_command"],
  ] as const) {
    const watch = watchForKeys(new Set([key]));
    expect(watch("Read", value.slice(1))).toBeUndefined();
    const message = expect.stringContaining(`The API key from ${source} is in the result of Bash: `);
    expect(watch("Bash", `KEY=${value}\n`)).toMatchObject({ level: "warn", code: "key_exposed", message });
    expect(watch("Bash", value)).toBeUndefined();
  }
});

test("no key, and a placeholder that is in other texts by accident, are not looked for", () => {
  expect(watchForKeys(new Set())("Read", value)).toBeUndefined();
  expect(watchForKeys(new Set([{ value: value.slice(0, 7) }]))("Read", value)).toBeUndefined();
  expect(watchForKeys(new Set([{ value: value.slice(0, 8) }]))("Read", value)).toBeDefined();
});
