import { expect, test } from "bun:test";
import type { Allowance } from "../../lib/conversation/allowance.ts";
import { type Explicit, keepToRecord } from "../../lib/conversation/resume.ts";
import { facts } from "../support/sessions.ts";

const plain = { mode: "allowlist", allow: [], deny: [] } as const;
const narrow: Allowance = {
  mode: "auto",
  write: [],
  read: [],
  hide: [],
  allowGit: false,
  allowConfig: false,
  egress: plain,
};
const silent: Explicit = {
  mode: false,
  write: [],
  read: [],
  allowGit: false,
  allowConfig: false,
  net: false,
  allowNet: [],
};

const resumed = (record: Partial<Allowance>, wanted: Partial<Allowance>, explicit: Partial<Explicit> = {}) => {
  const { mode, ...granted } = { ...narrow, ...record };
  const { allowance, notices } = keepToRecord(
    { ...facts, mode, granted },
    { ...narrow, ...wanted },
    { ...silent, ...explicit },
  );
  return { ...allowance, said: notices.map(({ message }) => message) };
};

const wider: [wanted: Partial<Allowance>, explicit: Partial<Explicit>, flag: string][] = [
  [{ write: ["/data"] }, { write: ["/data"] }, "--allow-write"],
  [{ read: ["/home/me/.npmrc"] }, { read: ["/home/me/.npmrc"] }, "--allow-read"],
  [{ allowGit: true }, { allowGit: true }, "--allow-git"],
  [{ allowConfig: true }, { allowConfig: true }, "--allow-config"],
  [{ egress: { ...plain, mode: "open" } }, { net: true }, "--net"],
  [{ egress: { ...plain, allow: ["a.example"] } }, { allowNet: ["a.example"] }, "--allow-net"],
];

test.each(wider)("what a session was not granted, %j, only a flag grants later", (wanted, explicit, flag) => {
  const kept = resumed({}, wanted);
  expect(kept).toEqual({ ...narrow, said: [expect.stringContaining(`pass ${flag} to`)] });
  expect(resumed({}, wanted, explicit)).toEqual({ ...narrow, ...wanted, said: [] });
});

test.each(wider)("what a session was granted, %j, it keeps as long as it is asked for", (granted) => {
  expect(resumed(granted, granted)).toEqual({ ...narrow, ...granted, said: [] });
  expect(resumed(granted, {})).toEqual({ ...narrow, said: [] });
});

test("what a session hid stays hidden, until a flag opens it", () => {
  expect(resumed({ hide: ["/a"] }, { hide: ["/b"] })).toEqual({
    ...narrow,
    hide: ["/b", "/a"],
    said: ['"/a" was hidden in this session and stays hidden: pass --allow-read to allow it'],
  });
  const opened = resumed({ hide: ["/a"] }, { read: ["/a"] }, { read: ["/a"] });
  expect(opened).toEqual({ ...narrow, read: ["/a"], said: [] });
});

test("a host that a session was denied stays denied, until a flag allows it", () => {
  const denied = { egress: { ...plain, deny: ["a.example"] } };
  expect(resumed(denied, {})).toMatchObject({ ...denied, said: [expect.stringContaining("pass --allow-net")] });
  expect(resumed(denied, {}, { allowNet: ["a.example"] })).toMatchObject({ egress: plain, said: [] });
});

test("a network without a record was the usual one, and a stricter one is taken at once", () => {
  const before = { ...facts, granted: { write: [], read: [], hide: [], allowGit: false } };
  const keep = (mode: "none" | "open") =>
    keepToRecord(before, { ...narrow, egress: { ...plain, mode } }, silent).allowance.egress.mode;
  expect(keep("open")).toBe("allowlist");
  expect(keep("none")).toBe("none");
});

test("a session that an earlier koda kept was granted its writable roots and no more", () => {
  const earlier = { ...facts, writable: ["/project", "/srv"] };
  const wanted = {
    ...narrow,
    write: ["/srv", "/data"],
    read: ["/home/me/.npmrc"],
    hide: ["/a"],
    allowGit: true,
    allowConfig: true,
    egress: plain,
  };
  const { allowance, notices } = keepToRecord(earlier, wanted, silent);
  expect(allowance).toEqual({ ...narrow, write: ["/srv"], hide: ["/a"] });
  expect(notices).toHaveLength(4);
});

test("a new session is granted what is asked for", () => {
  const rights = { allowGit: true, allowConfig: true, egress: plain };
  const wanted: Allowance = { mode: "auto", write: ["/data"], read: ["/x"], hide: [], ...rights };
  expect(keepToRecord(undefined, wanted, silent)).toEqual({ allowance: wanted, notices: [] });
});
