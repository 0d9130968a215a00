import { describe, expect, test } from "bun:test";
import { symlinkSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DoctorCheck } from "../../cmd/checks.ts";
import { koda } from "../support/koda.ts";
import { say } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { configure, makePlace, type Place } from "../support/place.ts";

/** A machine, a user or a project with which something may be wrong. */
type Circumstance = {
  config?: object;
  env?: Record<string, string>;
  make?: (place: Place) => void;
  /** The checks that find it; a run works when it is none of them. */
  found: readonly string[];
  /** The exit code of a run. */
  exit: number;
};

const server = (command: string, more: object = {}) => ({ mcp: { servers: { own: { command, ...more } } } });

const circumstances: Readonly<Record<string, Circumstance>> = {
  "nothing is wrong": { found: [], exit: 0 },
  "there is no key": { env: { OPENAI_API_KEY: "" }, found: ["model"], exit: 4 },
  "the key has a curly quote": { env: { OPENAI_API_KEY: "sk-”secret" }, found: ["model"], exit: 4 },
  "a header needs a variable": {
    config: { providers: { openai: { headers: { "x-team": "${TEAM}" } } } },
    found: ["model"],
    exit: 4,
  },
  "the cost is limited and the price unknown": {
    config: { model: "openai/unheard-of", limits: { max_cost: 1 } },
    found: ["model"],
    exit: 2,
  },
  "a limit on the cost of a known model": {
    config: { model: "openai/gpt-5.5", limits: { max_cost: 1 } },
    found: [],
    exit: 0,
  },
  "a key is misspelt": { config: { modle: "x" }, found: ["configuration"], exit: 2 },
  "the project's configuration is a link out of it": {
    make: ({ home, project }) => {
      mkdirSync(join(project, ".koda"));
      writeFileSync(join(home, "other.json"), "{}");
      symlinkSync(join(home, "other.json"), join(project, ".koda/config.json"));
    },
    found: ["configuration"],
    exit: 2,
  },
  "the database is none": {
    make: ({ home }) => {
      mkdirSync(join(home, ".local/share/koda"), { recursive: true });
      writeFileSync(join(home, ".local/share/koda/koda.db"), "not a database".repeat(400));
    },
    found: ["database"],
    exit: 10,
  },
  "a required server has no program": {
    config: server("no-such-program", { required: true }),
    found: ["MCP servers"],
    exit: 2,
  },
  "a required server ends at once": { config: server("false", { required: true }), found: ["MCP servers"], exit: 2 },
  "another server ends at once": { config: server("false"), found: [], exit: 0 },
  "a required server is disabled": {
    config: server("false", { required: true, enabled: false }),
    found: [],
    exit: 0,
  },
  "the temporary directory is missing": {
    env: { TMPDIR: "/nonexistent" },
    found: ["sandbox", "temporary files"],
    exit: 2,
  },
  "a host pattern is none": { config: { egress: { allow: ["*"] } }, found: ["sandbox", "egress"], exit: 2 },
  "the proxy has another scheme": { env: { ALL_PROXY: "gopher://x" }, found: ["sandbox", "egress"], exit: 2 },
  "the project is hidden": { config: { sandbox: { hide: ["."] } }, found: ["sandbox"], exit: 2 },
};

describe("koda doctor says what a run then does, when", () => {
  for (const [name, { config, env: own, make, found, exit }] of Object.entries(circumstances))
    test(name, async () => {
      await using model = await startModelServer([say("Done.")]);
      await using place = makePlace();
      if (config !== undefined) configure(place, config);
      make?.(place);
      const env = { OPENAI_API_KEY: "sk-test-123456789", OPENAI_BASE_URL: model.url, ...own };
      const checked = await koda(place, ["doctor", "--json"], { env });
      const { ok, checks } = JSON.parse(checked.stdout) as { ok: boolean; checks: DoctorCheck[] };
      const failed = checks.filter(({ status }) => status === "fail");
      expect([...new Set(failed.map(({ name }) => name))]).toEqual([...found]);
      expect([checked.exit, ok]).toEqual(found.length === 0 ? [0, true] : [1, false]);

      const told = await koda(place, ["doctor"], { env });
      expect(told.exit).toBe(checked.exit);
      expect(told.stdout.trimEnd().split("\n").at(-1)).toMatch(
        found.length === 0 ? /^(?:✓ A run works here|! A run works here; see .+)$/ : /^✗ A run would fail here: see /,
      );
      expect((await koda(place, ["exec", "hello"], { env })).exit).toBe(exit);
    });
});
