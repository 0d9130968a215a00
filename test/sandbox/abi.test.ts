import { expect, test } from "bun:test";
import { landlockAbi } from "../../lib/sandbox/abi.ts";
import { handledBy, restrict } from "../../lib/sandbox/program/steps/landlock.ts";
import { runAfter, withoutNewPrivileges } from "../support/assembled.ts";

test("the version is a number that stays the same, and 0 where there is no Landlock", () => {
  const abi = landlockAbi();
  expect(Number.isInteger(abi)).toBe(true);
  expect(abi).toBeGreaterThanOrEqual(0);
  expect(landlockAbi()).toBe(abi);
  if (process.platform !== "linux") expect(abi).toBe(0);
});

const versions = Array.from({ length: landlockAbi() }, (_, index) => index + 1);

test.skipIf(versions.length === 0)("the kernel takes every version up to its own", () => {
  for (const abi of versions) {
    const everything = { path: "/", access: handledBy(abi).files };
    const ran = runAfter((assembly) => {
      withoutNewPrivileges(assembly);
      restrict(assembly, { abi, paths: [everything], closesTcp: true });
    }, "exec /bin/true");
    expect({ abi, ...ran }).toEqual({ abi, exitCode: 0, output: "" });
  }
});

test.skipIf(versions.length === 0)("every version holds back what it was not told to allow", () => {
  for (const abi of versions) {
    const ran = runAfter((assembly) => {
      withoutNewPrivileges(assembly);
      restrict(assembly, { abi, paths: [], closesTcp: true });
    }, "true");
    // Without a rule for it the shell itself cannot be executed: the version bites.
    expect({ abi, ...ran }).toEqual({ abi, exitCode: 126, output: "koda sandbox: execve failed, errno 013\n" });
  }
});
