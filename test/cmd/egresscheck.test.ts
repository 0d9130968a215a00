import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { DoctorCheck } from "../../cmd/checks.ts";
import type { EgressRefusal } from "../../lib/egress/refusals/log.ts";
import { Refusals } from "../../lib/egress/refusals/refusals.ts";
import { developmentHosts, gitHosts } from "../../lib/egress/rules/allowlist.ts";
import { makePlace, type Place } from "../support/place.ts";
import { kodaFromSource } from "../support/source.ts";

/** Where nothing runs unasked, no sandbox is missed. */
const careful = { ".koda/config.json": JSON.stringify({ mode: "plan" }) };

async function diagnose(place: Place, env: Record<string, string> = {}) {
  const { stdout } = await kodaFromSource(place, ["doctor", "--json"], { OPENAI_API_KEY: "sk-test", ...env });
  const { checks, refusals } = JSON.parse(stdout) as { checks: DoctorCheck[]; refusals: EgressRefusal[] };
  return { egress: checks.find(({ name }) => name === "egress"), refusals, stdout };
}

const development = developmentHosts.length + gitHosts.length;

describe("koda doctor says what commands may reach", () => {
  type Row = { name: string; egress?: object; env?: Record<string, string>; status?: string; message: string };
  const rows: readonly Row[] = [
    { name: "the hosts of development", message: `allowlist: ${development} patterns allowed, direct` },
    {
      name: "and those of the user",
      egress: { allow: ["*.example.com", "10.1.2.3:8080"], deny: ["github.com"] },
      message: `allowlist: ${development + 2} patterns allowed, 1 denied, direct`,
    },
    { name: "nothing", egress: { mode: "none" }, message: "none: commands reach nothing" },
    {
      name: "everything public",
      egress: { mode: "open", allow: ["10.1.2.3"] },
      message: "open: every public host and 1 pattern allowed, direct",
    },
    {
      name: "through the user's own proxy, whose password it keeps",
      env: { ALL_PROXY: "socks5h://me:hunter2@gate.example:1080" },
      message: `allowlist: ${development} patterns allowed, through socks5://gate.example:1080`,
    },
    {
      name: "and through two of them",
      env: { HTTPS_PROXY: "http://me:hunter2@gate.example:3128", HTTP_PROXY: "http://other.example:80" },
      message: `allowlist: ${development} patterns allowed, HTTP through http://other.example:80, all else through http://gate.example:3128`,
    },
    {
      name: "a bad pattern",
      egress: { allow: ["*"] },
      status: "fail",
      message: "egress.allow",
    },
    {
      name: "a proxy that is none, without its password",
      env: { HTTPS_PROXY: "gopher://me:hunter2@gate.example" },
      status: "fail",
      message: "HTTPS_PROXY",
    },
  ];
  for (const { name, egress, env, status = "ok", message } of rows)
    test(name, async () => {
      await using place = makePlace(careful);
      place.write("home/config.json", JSON.stringify(egress === undefined ? {} : { egress }));
      const found = await diagnose(place, { KODA_HOME: join(place.project, "home"), ...env });
      expect(found.egress?.status).toBe(status as DoctorCheck["status"]);
      expect(found.egress?.message).toContain(message);
      expect(found.stdout).not.toContain("hunter2");
    });
});

describe("koda doctor tells what was refused", () => {
  test("to nobody, at first", async () => {
    await using place = makePlace(careful);
    expect((await diagnose(place)).refusals).toEqual([]);
    const { stdout } = await kodaFromSource(place, ["doctor"]);
    expect(stdout).not.toContain("Refused lately");
  });

  test("the last 200 to scripts, the last five to people", async () => {
    await using place = makePlace({ ...careful, "home/config.json": "{}" });
    const home = join(place.project, "home");
    const refusals = new Refusals(home);
    for (let at = 0; at < 250; at++)
      refusals.add({ via: "http", host: `h${at}.test`, port: 443, reason: `h${at}.test is \u001b[31mrefused` });

    const found = await diagnose(place, { KODA_HOME: home });
    expect(found.refusals).toHaveLength(200);
    expect(found.refusals.at(-1)).toMatchObject({ via: "http", host: "h249.test", port: 443 });

    const { stdout } = await kodaFromSource(place, ["doctor"], { KODA_HOME: home });
    const [, shown = ""] = stdout.split("Recently refused (--json shows more):\n");
    expect(shown).toMatch(/^( {2}\S+Z h24[5-9]\.test is refused\n){5}$/);
  });
});
