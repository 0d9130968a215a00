import { expect, test } from "bun:test";
import { findProgram } from "../../lib/files/program.ts";

test("a directory of the search path whose name is too long for the system is passed over", () => {
  expect(findProgram("sh", [`/${"long".repeat(2000)}`, "/bin"], [])).toBe("/bin/sh");
});
