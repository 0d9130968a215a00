type FileRow = { readonly paths: readonly string[]; readonly about: string };

/** The files of koda that users know by name: for the manual and docs/configuration.md. */
export const files: readonly FileRow[] = [
  {
    paths: ["$KODA_HOME/config.json", "$XDG_CONFIG_HOME/koda/config.json", "~/.config/koda/config.json"],
    about: "Your configuration: the first of these directories that is set",
  },
  {
    paths: ["$KODA_HOME/koda.db", "$XDG_DATA_HOME/koda/koda.db", "~/.local/share/koda/koda.db"],
    about: "The sessions, in the same way",
  },
  { paths: [".koda/config.json"], about: "A project's configuration, in the directory that koda works in (`-C`)" },
  {
    paths: [".koda/", ".agents/skills/", ".claude/skills/", ".mcp.json"],
    about: "A project's own skills, prompts, agents, plugins and MCP servers, which need `--trust-project`",
  },
  { paths: ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md"], about: "Instructions: the first of each directory" },
];
