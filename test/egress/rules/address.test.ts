import { expect, test } from "bun:test";
import { formatIpAddress, parseIpAddress } from "../../../lib/egress/rules/address.ts";

/** The one spelling of an address, or undefined for a text that is none. */
function canonical(text: string): string | undefined {
  const address = parseIpAddress(text);
  return address === undefined ? undefined : formatIpAddress(address);
}

test.each([
  ["0.0.0.0", "0.0.0.0"],
  ["255.255.255.255", "255.255.255.255"],
  ["8.8.4.4", "8.8.4.4"],
  ["::", "::"],
  ["::1", "::1"],
  ["1::", "1::"],
  ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
  ["2001:0db8::0001", "2001:db8::1"],
  ["1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"],
  ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
  ["::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"],
  ["1:0:0:4:0:0:0:8", "1:0:0:4::8"],
  ["::ffff:1.2.3.4", "::ffff:102:304"],
  ["1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"],
])("%s is an address, in one spelling %s", (text, spelling) => {
  expect(canonical(text)).toBe(spelling);
});

test.each([
  ..."1.2.3 1.2.3.4.5 1.2.3.256 1.2.3.04 01.2.3.4 1.2.3.4. 1..2.3 0x7f.0.0.1 1.2.3.-4 1.2.3.4e0 １.2.3.4 :".split(" "),
  ..."::: ::1:: 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7:8:: ::1:2:3:4:5:6:7:8 :1:2:3:4:5:6:7:8".split(" "),
  ..."1:2:3:4:5:6:7:8: 12345:: g:: ::1%lo ::1%0 fe80::1%25eth0 [::1] 1.2.3.4:: ::1.2.3.4:5 ::1.2.3".split(" "),
  ..."1:2:3:4:5:6:7:1.2.3.4 ::0x1 ::+1".split(" "),
  "",
  "1.2.3.4 ",
  "1.2.3.4\n",
])("%j is no address", (text) => {
  expect(canonical(text)).toBeUndefined();
});
