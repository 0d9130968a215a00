import { expect, test } from "bun:test";
import { softOpenFiles } from "../../lib/system/limits.ts";

test.each([
  [
    "Limit                     Soft Limit           Hard Limit           Units\nMax open files            256                  20000                files\n",
    256,
  ],
  [
    "Max processes             5                    5                    processes\nMax open files            1048576              1048576              files",
    1_048_576,
  ],
  ["Max open files            unlimited            unlimited            files", 1024],
  ["", 1024],
])("the soft limit in %j is %i", (text, soft) => {
  expect(softOpenFiles(text)).toBe(soft);
});
