/**
 * Flags and commands of codex, claude, opencode, gemini and pi, with koda's own for each. A flag with a value
 * (`--sandbox read-only`) wins over the flag alone. No answer may name a flag that allows more than the one that was
 * typed, or one that koda does not have.
 */
const rows: readonly (readonly [words: string, answer: string])[] = [
  ["-p, --print, --prompt, --headless", 'write koda exec "PROMPT", without this flag'],
  ["-s read-only, --sandbox read-only", "write --mode plan, which changes nothing"],
  ["-s workspace-write, --sandbox workspace-write", "write --net none; commands can change only the project anyway"],
  [
    "-s, --sandbox",
    "leave it out, since commands always run in a sandbox; --mode plan also makes the project read-only",
  ],
  ["--full-auto", "write --net none; koda exec never asks, and commands can change only the project anyway"],
  [
    "--dangerously-*, --allow-dangerously-*, --yolo, -y",
    "leave it out, since koda exec never asks; commands run in a sandbox",
  ],
  ["-a untrusted, --ask-for-approval untrusted", "write --mode safe, which denies what it would ask about"],
  ["-a, --ask-for-approval", "leave it out, since koda exec never asks; --mode safe denies whatever changes something"],
  ["--permission-mode plan, --approval-mode plan, --plan", "write --mode plan"],
  [
    "--permission-mode, --approval-mode",
    "write --mode plan or --mode safe; neither changes anything, and koda exec never asks",
  ],
  ["-c", "write --config KEY=VALUE for a configuration value, or --last to continue the latest session"],
  ["--settings", "write --config KEY=VALUE for each value; koda doctor --config lists them"],
  ["--ignore-user-config, --setting-sources", "write --bare, which reads no configuration and no instructions"],
  ["--continue", "write --last, which continues this directory's latest session"],
  ["-r", "write --resume ID, or --last for this directory's latest session"],
  ["--session-id", "write --session ID"],
  ["--fork-session", "write --fork ID"],
  ["--no-session, --no-session-persistence", "write --ephemeral"],
  ["--skip-git-repo-check", "leave it out, since koda needs no git repository"],
  ["--dir, --cwd", "write -C DIR"],
  ["--output-format stream-json, --output stream-json, --format json", "write --output jsonl"],
  ["--output-format, --format", "write --output text, json or jsonl"],
  ["--json-schema", "write --output-schema FILE, with the schema in that file"],
  ["--include-partial-messages", "leave it out, since --output jsonl has every piece of text"],
  ["--system-prompt, --append-system-prompt", "koda has no such flag; write it into the prompt or into AGENTS.md"],
  ["--effort, --variant", "write --reasoning-effort low, medium or high"],
  ["--edit-format", "write --edit edit or patch"],
  ["--thinking", "write --reasoning-effort low, medium or high; -v shows what the model thinks"],
  ["--max-budget-usd", "write --max-cost USD"],
  ["--allowedTools, --allowed-tools, --tools", "write --allow-tool NAME, which gives the run these tools and no other"],
  ["--disallowedTools, --disallowed-tools, --exclude-tools", "write --deny-tool NAME"],
  ["--mcp-config, --strict-mcp-config", "koda connects to no MCP server; its tools are built in"],
  ["--api-key", "write --api-key-env NAME, with the key in that variable"],
  ["--provider", "write -m PROVIDER/MODEL"],
  ["--oss, --local-provider", "write -m ollama/MODEL or -m lmstudio/MODEL"],
  ["--debug, -d, --print-logs", "write -v"],
  ["--version", "write koda --version"],

  ["run, e, exec, ask", 'write koda exec "PROMPT"'],
  ["chat", 'koda has no chat; write koda exec "PROMPT", and koda exec --last "PROMPT" to continue'],
  ["review, ultrareview", 'koda has no review command; write koda exec --mode plan "review the uncommitted changes"'],
  ["resume, continue", 'write koda exec --last "PROMPT", or koda exec --resume ID "PROMPT"'],
  ["fork", 'write koda session fork ID, or koda exec --fork ID "PROMPT"'],
  ["undo, rewind, rollback, revert", "write koda session rollback ID N, which can restore the files too"],
  ["mcp, mcp-server", "koda connects to no MCP server; its tools are built in"],
  [
    "plugin, plugins, extension, extensions, hook, hooks, agent, agents",
    "koda has none; put instructions for the model into AGENTS.md",
  ],
  [
    "skill, skills",
    "koda has no such command; it reads skills from ~/.agents/skills and other places (docs/skills.md)",
  ],
  ["login, logout, auth, setup-token, providers", "koda takes keys from variables; koda models lists them"],
  ["config, settings", "write koda doctor --config to see each value, or koda exec --config KEY=VALUE to set one"],
  ["update, upgrade, install, uninstall", "koda is a single file; to update it, replace the file"],
  ["export", "write koda session export ID"],
  ["sessions, history, ls, stats, session ls", "write koda session list"],
  ["delete, remove, session delete, session remove", "write koda session rm ID"],
  ["completion", "write koda completions SHELL"],
  ["debug", "write koda doctor"],
  ["version", "write koda --version"],
  ["help", "write koda --help, or koda COMMAND --help"],
  [
    "serve, web, acp, attach, app-server, exec-server, remote-control",
    "koda has no server; koda exec --output jsonl gives a program every event",
  ],
  ["apply", "koda exec changes the files itself, so there is nothing to apply"],
  ["cloud, import, github, pr, db, features, archive, unarchive, project, gateway", "koda has no such command"],
];

export const foreignWords: ReadonlyMap<string, string> = new Map(
  rows.flatMap(([words, answer]) => words.split(", ").map((word) => [word, answer] as const)),
);
