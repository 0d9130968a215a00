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
  const usual = `allowlist: ${development} host patterns allowed`;
  const rows: readonly [name: string, egress: object | undefined, env: Record<string, string>, message: string][] = [
    ["the hosts of development", undefined, {}, `${usual}, no upstream proxy`],
    [
      "and those of the user",
      { allow: ["*.example.com", "10.1.2.3:8080"], deny: ["github.com"] },
      {},
      `allowlist: ${development + 2} host patterns allowed, 1 denied, no upstream proxy`,
    ],
    ["nothing", { mode: "none" }, {}, "none: commands have no network"],
    [
      "everything public",
      { mode: "open", allow: ["10.1.2.3"] },
      {},
      "open: every public host and 1 host pattern allowed, no upstream proxy",
    ],
    [
      "through the user's own proxy, whose password it keeps",
      undefined,
      { ALL_PROXY: "socks5h://me:hunter2@gate.example:1080" },
      `${usual}, through socks5://gate.example:1080`,
    ],
    [
      "and through two of them",
      undefined,
      { HTTPS_PROXY: "http://me:hunter2@gate.example:3128", HTTP_PROXY: "http://other.example:80" },
      `${usual}, HTTP through http://other.example:80, all else through http://gate.example:3128`,
    ],
    ["a bad pattern", { allow: ["*"] }, {}, "egress.allow"],
    [
      "a proxy that is none, without its password",
      undefined,
      { HTTPS_PROXY: "gopher://me:hunter2@gate.example" },
      "HTTPS_PROXY",
    ],
  ];
  for (const [name, egress, env, message] of rows)
    test(name, async () => {
      await using place = makePlace(careful);
      place.write("home/config.json", JSON.stringify(egress === undefined ? {} : { egress }));
      const found = await diagnose(place, { KODA_HOME: join(place.project, "home"), ...env });
      expect(found.egress?.status).toBe(/^[a-z]+: /.test(message) ? "ok" : "fail");
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
    expect(shown).toMatch(/^( {2}\S+Z h24[5-9]\.test is refused\n){5}\n✗ A run would fail here: see model\n$/);
  });
});
