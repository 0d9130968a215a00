import { expect, test } from "bun:test";
import { commandPrefix, startsWith } from "../../lib/trust/commandprefix.ts";

const home = "/home/user";

test.each([
  ["npm test -- --watch", "npm test"],
  ["git commit -m x", "git commit"],
  ["touch a b", "touch"],
  ["./build.sh all", "./build.sh"],
  ["/usr/bin/git fetch", "/usr/bin/git fetch"],
  ["git -C /elsewhere commit", undefined],
  ["npm", undefined],
  ["bash -c 'rm x'", undefined],
  ["npx prettier .", undefined],
  ["touch a; rm b", undefined],
  ["touch a | tee b", undefined],
  ["touch $(cat list)", undefined],
  ["$PROGRAM a", undefined],
  ["touch a > b", undefined],
  ["X=1 touch a", undefined],
  ["touch a &", "touch"],
  ["if true; then touch a; fi", undefined],
  ["touch 'a", undefined],
])("the start of %p is %p", (line, prefix) => {
  expect(commandPrefix(line, home)).toBe(prefix as string);
});

test.each([
  ["npm test", true],
  ["npm test -- --watch", true],
  ["npm test && npm test", true],
  ["npm testing", false],
  ["npm test; rm x", false],
  ["npm test $(rm x)", false],
  ["npm test > out", false],
  ["NODE_OPTIONS=--require=./x.js npm test", false],
  ["sudo npm test", false],
])("%p is covered by npm test: %p", (line, isCovered) => {
  expect(startsWith(line, ["npm test"], home)).toBe(isCovered);
});
