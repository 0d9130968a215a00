import { shellQuoted } from "../quote.ts";
import { bracketed } from "./rules/address.ts";

/** An address at which commands find a proxy. */
export type ProxyAddress = { host: string; port: number };

type VariableOptions = {
  http: ProxyAddress;
  socks: ProxyAddress;
  /** The koda that takes ssh through the SOCKS proxy: other programs for that are not on every machine. */
  executable?: string;
};

/** A command's own servers are reached directly; in a sandbox with a network of its own nothing else is there. */
const direct = ["localhost", "127.0.0.1", "::1"];

/** Variables in which programs look for a proxy. */
export const proxyNames: readonly string[] = ["http", "https", "ftp", "all", "no"].flatMap((kind) => {
  const name = `${kind}_proxy`;
  return [name, name.toUpperCase()];
});

/**
 * Variables with the URL of the HTTP proxy. `ALL_PROXY` is one of them: several clients give up when they find a SOCKS
 * URL there. Package managers have their own, since a user's configuration file would otherwise lead them elsewhere.
 */
const urlVariables = words(`
  HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy npm_config_proxy npm_config_https_proxy
  YARN_HTTP_PROXY YARN_HTTPS_PROXY PIP_PROXY CARGO_HTTP_PROXY
`);
const directVariables = words("NO_PROXY no_proxy npm_config_noproxy");

/**
 * Variables by which commands find the proxies. They are set after the environment was rebuilt: the user's own proxy
 * would be out of reach for a command, and is used by ours.
 */
export function proxyVariables({ http, socks, executable }: VariableOptions): Record<string, string> {
  return {
    ...allTo(urlVariables, `http://${urlAuthority(http)}`),
    ...allTo(directVariables, direct.join(",")),
    SOCKS_PROXY: `socks5h://${urlAuthority(socks)}`,
    // Node's fetch obeys the variables above only when this is set.
    NODE_USE_ENV_PROXY: "1",
    JAVA_TOOL_OPTIONS: javaOptions(http),
    ...(executable !== undefined && { GIT_SSH_COMMAND: sshCommand(executable, socks) }),
  };
}

function javaOptions({ host, port }: ProxyAddress): string {
  const servers = ["http", "https"].flatMap((scheme) => [
    `-D${scheme}.proxyHost=${host}`,
    `-D${scheme}.proxyPort=${port}`,
  ]);
  return [...servers, "-Dhttp.nonProxyHosts=localhost|127.*|[::1]"].join(" ");
}

/** The hidden command that opens a tunnel through the SOCKS proxy. */
export const sshTunnelName = "ssh-tunnel";

function sshCommand(executable: string, socks: ProxyAddress): string {
  // ssh replaces %h and %p, and takes every other % for a token of its own.
  const program = shellQuoted(executable).replaceAll("%", "%%");
  const proxyCommand = `${program} ${sshTunnelName} --proxy ${urlAuthority(socks)} %h %p`;
  return `ssh -o ${shellQuoted(`ProxyCommand=${proxyCommand}`)}`;
}

const authorityVariables = words(`
  SSL_CERT_FILE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO CARGO_HTTP_CAINFO PIP_CERT
  AWS_CA_BUNDLE DENO_CERT
`);

/** The certificates of the user's own authorities, by the names that programs know. */
export function certificateVariables(file: string): Record<string, string> {
  return allTo(authorityVariables, file);
}

function urlAuthority({ host, port }: ProxyAddress): string {
  return `${bracketed(host)}:${port}`;
}

function allTo(names: readonly string[], value: string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, value]));
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
