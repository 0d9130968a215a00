import { withoutCredentials } from "../sandbox/settings/value.ts";

/** The rules by which a command's environment is made. */
type EnvironmentRules = {
  /** Variables that the user lets through (`--allow-env`), by their exact names. */
  pass: readonly string[];
  /** The run's own directory for temporary files. */
  tmp: string;
  /** Variables that hold the key of a provider or of an MCP server. */
  keys: readonly string[];
};

/** `notes` tells the user which variables were asked for and stay out. */
type ChildEnvironment = { env: Record<string, string>; notes: readonly string[] };

const harmless = {
  identity: "HOME USER LOGNAME SHELL EMAIL GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL",
  // LC_* too.
  locale: "LANG LANGUAGE TZ TZDIR LOCALE_ARCHIVE",
  surroundings: "PATH CI NO_COLOR LD_LIBRARY_PATH DYLD_LIBRARY_PATH",
  directories: "XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS",
  proxies: `http_proxy https_proxy ftp_proxy all_proxy no_proxy
            HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY`,
  certificates: `SSL_CERT_FILE SSL_CERT_DIR NIX_SSL_CERT_FILE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
                 GIT_SSL_CAINFO CARGO_HTTP_CAINFO PIP_CERT AWS_CA_BUNDLE DENO_CERT`,
  rust: "CARGO_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN CARGO_TARGET_DIR",
  go: "GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOFLAGS GOTOOLCHAIN GO111MODULE",
  jvm: `JAVA_HOME JDK_HOME JRE_HOME M2_HOME MAVEN_HOME GRADLE_HOME GRADLE_USER_HOME ANT_HOME SDKMAN_DIR KOTLIN_HOME
        SCALA_HOME SBT_HOME COURSIER_CACHE ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME`,
  javascript: `NVM_DIR NVM_BIN FNM_DIR FNM_MULTISHELL_PATH VOLTA_HOME N_PREFIX NODENV_ROOT NODE_PATH PNPM_HOME
               COREPACK_HOME DENO_DIR DENO_INSTALL PLAYWRIGHT_BROWSERS_PATH`,
  python: `VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE MAMBA_ROOT_PREFIX PYENV_ROOT PYENV_VERSION PYTHONPATH
           PYTHONHOME PIPX_HOME POETRY_HOME UV_CACHE_DIR PIP_CACHE_DIR`,
  ruby: "RBENV_ROOT RBENV_VERSION GEM_HOME GEM_PATH BUNDLE_PATH rvm_path",
  others: `COMPOSER_HOME DOTNET_ROOT NUGET_PACKAGES FLUTTER_ROOT PUB_CACHE STACK_ROOT CABAL_DIR OPAMROOT
           OPAM_SWITCH_PREFIX MIX_HOME HEX_HOME ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR HOMEBREW_PREFIX HOMEBREW_CELLAR
           HOMEBREW_REPOSITORY NIX_PATH NIX_PROFILES NIX_REMOTE CUDA_HOME CUDA_PATH ROCM_PATH`,
  compilers: "CC CXX PKG_CONFIG_PATH CMAKE_PREFIX_PATH",
};

const allowed = namesIn(Object.values(harmless));

/**
 * Registries of packages, and files that name them. Without these, tools would ask the public registries, where anyone
 * may publish under the name of a company's package.
 */
const registries = {
  npm: `npm_config_registry npm_config_userconfig npm_config_globalconfig npm_config_replace_registry_host
        npm_config_ignore_scripts npm_config_offline npm_config_strict_ssl npm_config_cafile
        COREPACK_NPM_REGISTRY YARN_REGISTRY YARN_NPM_REGISTRY_SERVER`,
  python: `PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS PIP_NO_INDEX PIP_TRUSTED_HOST PIP_CONFIG_FILE
           PIP_CONSTRAINT PIP_REQUIRE_HASHES UV_INDEX UV_DEFAULT_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL UV_FIND_LINKS
           UV_NO_INDEX UV_INSECURE_HOST UV_OFFLINE UV_CONFIG_FILE PIPENV_PYPI_MIRROR`,
  go: "GOPROXY GOPRIVATE GONOPROXY GOSUMDB GONOSUMDB GOINSECURE GOVCS",
  rust: "CARGO_REGISTRY_DEFAULT CARGO_NET_OFFLINE RUSTUP_DIST_SERVER RUSTUP_UPDATE_ROOT",
  others: "HEX_MIRROR PUB_HOSTED_URL FLUTTER_STORAGE_BASE_URL NODEJS_ORG_MIRROR",
};

/** npm reads its names in capitals too. */
const ofRegistries = namesIn(
  Object.values(registries).flatMap((names) => [
    names,
    names.replaceAll(/\bnpm_config\w*/g, (name) => name.toUpperCase()),
  ]),
);
/** Variables with a name of the user's choice in them. */
const namedRegistry = /^(CARGO_REGISTRIES_[A-Z\d_]+_INDEX|npm_config_@[\w.~-]+:registry)$/;

function namesIn(lists: readonly string[]): ReadonlySet<string> {
  return new Set(lists.flatMap((names) => names.split(/\s+/)));
}

/** Judged by its name, a variable holds a secret. */
export function isNamedSecret(name: string): boolean {
  return /KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(?:^|[_-])PASS(?:$|[_-])/i.test(name);
}

/**
 * A value shorter than this may stand in another text by accident (placeholders for servers without keys are `none` or
 * `ollama`), so it is not looked for in messages, cassettes and results.
 */
export const shortestSecret = 8;

/**
 * The environment of everything that is run for the model, rebuilt from what is known to be harmless: an unknown
 * variable stays out.
 */
export function childEnv(
  parent: Readonly<Record<string, string | undefined>>,
  rules: EnvironmentRules,
): ChildEnvironment {
  const passed = new Set(rules.pass);
  const keys = rules.keys.map((name) => parent[name] ?? "").filter((key) => key.length >= shortestSecret);
  const env: Record<string, string> = {};
  const notes: string[] = [];

  for (const [name, given] of Object.entries(parent)) {
    const isRegistry = namesRegistry(name) && !passed.has(name);
    if (given === undefined || !(isRegistry || passed.has(name) || isHarmless(name))) continue;
    const value = isRegistry ? withoutCredentials(given) : given;
    const refusal = value === undefined ? "its address cannot be read" : refusalOf(name, value, rules.keys, keys);
    if (value !== undefined && refusal === undefined) {
      env[name] = value;
      if (value !== given) notes.push(`"${name}" is passed on to commands without its credentials`);
    } else if (isRegistry || passed.has(name)) notes.push(`"${name}" is not passed on to commands: ${refusal}`);
  }

  return { env: { TERM: "dumb", ...env, TMPDIR: rules.tmp }, notes };
}

function isHarmless(name: string): boolean {
  return (allowed.has(name) || name.startsWith("LC_")) && !isNamedSecret(name);
}

function namesRegistry(name: string): boolean {
  return (ofRegistries.has(name) || namedRegistry.test(name)) && !isNamedSecret(name);
}

/** The reason why a variable stays out although the user asked for it. */
function refusalOf(name: string, value: string, keyNames: readonly string[], keys: readonly string[]) {
  if (name.startsWith("BUN_")) return "BUN_* changes what koda's own runtime does when it is started again";
  if (keyNames.includes(name)) return "it holds the key of a provider or of an MCP server";
  if (keys.some((key) => value.includes(key))) return "its value contains the key of a provider or of an MCP server";
  return undefined;
}
