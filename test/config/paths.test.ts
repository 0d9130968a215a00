import { expect, test } from "bun:test";
import { databaseFile, projectConfigFile, userConfigFile } from "../../lib/config/paths.ts";

const home = "/home/ada";

test("state and configuration lie in the XDG base directories of the home", () => {
  expect(databaseFile({ env: {}, home })).toBe("/home/ada/.local/share/koda/koda.db");
  expect(userConfigFile({ env: {}, home })).toBe("/home/ada/.config/koda/config.json");
});

test("XDG variables move state and configuration", () => {
  const env = { XDG_DATA_HOME: "/data", XDG_CONFIG_HOME: "/etc/ada" };
  expect(databaseFile({ env, home })).toBe("/data/koda/koda.db");
  expect(userConfigFile({ env, home })).toBe("/etc/ada/koda/config.json");
});

test("KODA_HOME holds both, whatever XDG says", () => {
  const env = { KODA_HOME: "/koda", XDG_DATA_HOME: "/data", XDG_CONFIG_HOME: "/etc/ada" };
  expect(databaseFile({ env, home })).toBe("/koda/koda.db");
  expect(userConfigFile({ env, home })).toBe("/koda/config.json");
});

test("empty variables are not set, and relative XDG paths are ignored", () => {
  const env = { KODA_HOME: "", XDG_DATA_HOME: "data", XDG_CONFIG_HOME: "" };
  expect(databaseFile({ env, home })).toBe("/home/ada/.local/share/koda/koda.db");
  expect(userConfigFile({ env, home })).toBe("/home/ada/.config/koda/config.json");
});

test("a relative KODA_HOME is refused by its value", () => {
  const env = { KODA_HOME: "./state" };
  expect(() => databaseFile({ env, home })).toThrow('Cannot use KODA_HOME "./state": expected an absolute path.');
  expect(() => userConfigFile({ env, home })).toThrow('KODA_HOME "./state"');
});

test.each(["", "relative"])("without a home (%j) there is no user configuration, and state has no place", (noHome) => {
  expect(userConfigFile({ env: {}, home: noHome })).toBeUndefined();
  expect(() => databaseFile({ env: {}, home: noHome })).toThrow(/none of KODA_HOME, XDG_DATA_HOME and HOME/);
  expect(databaseFile({ env: { XDG_DATA_HOME: "/data" }, home: noHome })).toBe("/data/koda/koda.db");
});

test("the project's file lies in the project's root", () => {
  expect(projectConfigFile("/work/site")).toBe("/work/site/.koda/config.json");
});
