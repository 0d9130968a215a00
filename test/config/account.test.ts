import { expect, test } from "bun:test";
import { userInfo } from "node:os";
import { accountHome } from "../../lib/config/account.ts";
import { makePlace } from "../support/place.ts";

test("the account's home is the one in the system's list", async () => {
  await using place = makePlace();
  const me = `me:x:${userInfo().uid}:1:Me:/home/of/me:/bin/sh`;
  const list = place.write("passwd", ["other:x:999999:1::/home/other:/bin/sh", me, ""].join("\n"));
  expect(accountHome(list)).toBe("/home/of/me");
  expect(accountHome(place.write("others", "other:x:999999:1::/home/other:/bin/sh\n"))).toBeUndefined();
  expect(accountHome(`${list}-that-is-not-there`)).toBeUndefined();
});
