import { expect, test } from "bun:test";
import { commandPrefix, startsWith } from "../../lib/trust/commandprefix.ts";

const home = "/home/user";

test.each([
  ["npm test -- --watch", "npm test"],
  ["git commit -m x", "git commit"],
  ["touch a b", "touch"],
  ["./build.sh all", undefined],
  ["bin/rails server", undefined],
  ["/opt/tool all", "/opt/tool"],
  ["npm run build", "npm run"],
  ["npm exec rimraf x", undefined],
  ["uv run rm x", undefined],
  ["git rebase --exec 'rm x' main", undefined],
  ["python3.12 -c x", undefined],
  [". ./env.sh", undefined],
  ["cd other", undefined],
  ["trap 'rm x' EXIT", undefined],
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
  ["npm test\nrm x", false],
  ["npm test\r\nrm x", false],
  ["npm test `rm x`", false],
  ["npm test <<E\n$(rm x)\nE", false],
  ["npm test < <(rm x)", false],
  ["npm() { rm x; }; npm test", false],
  ["alias npm=rm\nnpm test", false],
  ["\u0578pm test", false],
  ["{npm,test} -- --watch", true],
  ["if npm test; then npm test; fi", true],
  ["for PATH in ./other; do npm test; done", false],
  ["select PATH in ./other; do npm test; done", false],
  ["[[ 'a[$(rm x)]' -eq 0 ]] || npm test", false],
  ["(( 'a[$(rm x)]' )); npm test", false],
  ["for ((i = 0; i < 'a[$(rm x)]'; i++)); do npm test; done", false],
  ["npm test $(( 'a[$(rm x)]' ))", false],
  ["npm test ${PATH:'a[$(rm x)]'}", false],
  ["npm test 'a[$(rm x)]'; npm test ${!_}", false],
  ["npm test '$(rm x)'; npm test ${_@P}", false],
  ["npm test ${list[_]}", false],
  ["npm test ${npm_config_prefix:=x}", false],
  ["npm test ${FILTER:-all} ${FILTER%.ts} $FILTER", true],
])("%p is covered by npm test: %p", (line, isCovered) => {
  expect(startsWith(line, ["npm test"], home)).toBe(isCovered);
});
