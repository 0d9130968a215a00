type VariableRow = { readonly names: readonly string[]; readonly about: string };

/** The environment variables that koda reads, for the help, the manual and docs/configuration.md. */
export const environment: readonly VariableRow[] = [
  { names: ["KODA_MODEL"], about: "The model, when -m is not given" },
  {
    names: ["KODA_HOME"],
    about: "The directory of the configuration and the sessions, an absolute path, instead of the XDG ones",
  },
  { names: ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME"], about: "Where these are without KODA_HOME" },
  {
    names: ["OPENAI_API_KEY", "OPENAI_BASE_URL", "…"],
    about: "The providers' keys and base URLs; koda models lists them",
  },
  {
    names: ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"],
    about: "Your own proxy, for requests to models and for connections of commands; also in lower case",
  },
  { names: ["NO_PROXY"], about: "The hosts that are reached without it" },
  { names: ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"], about: "Files with certificate authorities to trust" },
  { names: ["KODA_STORE"], about: "The PostgreSQL database of koda batch and koda worker, when --store is not given" },
  { names: ["KODA_DOWNLOAD_BASE"], about: "The address that releases are downloaded from, for koda upgrade" },
  { names: ["NO_COLOR", "FORCE_COLOR", "TERM"], about: "Colours, when --color is not given" },
  { names: ["TMPDIR"], about: "The directory for temporary files" },
  { names: ["PATH"], about: "Where git, bash and the programs of commands are found" },
];
