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
 * Variables by which commands find the proxies. They are set after the environment was rebuilt: the user's own proxy
 * would be out of reach for a command, and is used by ours.
 */
export function proxyVariables({ http, socks, executable }: VariableOptions): Record<string, string> {
  return {
    ...everyCase(urlOf("http", http)),
    SOCKS_PROXY: urlOf("socks5h", socks),
    // Node's fetch obeys the variables above only when it is told to.
    NODE_USE_ENV_PROXY: "1",
    ...ofPackageManagers(urlOf("http", http)),
    JAVA_TOOL_OPTIONS: javaOptions(http),
    ...(executable !== undefined && { GIT_SSH_COMMAND: sshCommand(executable, socks) }),
  };
}

/** `ALL_PROXY` is the HTTP proxy as well: several clients give up when they find a SOCKS URL there. */
function everyCase(proxy: string): Record<string, string> {
  const none = direct.join(",");
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    ALL_PROXY: proxy,
    NO_PROXY: none,
    http_proxy: proxy,
    https_proxy: proxy,
    all_proxy: proxy,
    no_proxy: none,
  };
}

/** A user's configuration file would otherwise lead these programs elsewhere. */
function ofPackageManagers(proxy: string): Record<string, string> {
  return {
    npm_config_proxy: proxy,
    npm_config_https_proxy: proxy,
    npm_config_noproxy: direct.join(","),
    YARN_HTTP_PROXY: proxy,
    YARN_HTTPS_PROXY: proxy,
    PIP_PROXY: proxy,
    CARGO_HTTP_PROXY: proxy,
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

/** The certificates of the user's own authorities, by the names that programs know. */
export function certificateVariables(file: string): Record<string, string> {
  return {
    SSL_CERT_FILE: file,
    NODE_EXTRA_CA_CERTS: file,
    REQUESTS_CA_BUNDLE: file,
    CURL_CA_BUNDLE: file,
    GIT_SSL_CAINFO: file,
    CARGO_HTTP_CAINFO: file,
    PIP_CERT: file,
    AWS_CA_BUNDLE: file,
    DENO_CERT: file,
  };
}

function urlOf(scheme: string, listener: ProxyAddress): string {
  return `${scheme}://${urlAuthority(listener)}`;
}

function urlAuthority({ host, port }: ProxyAddress): string {
  return `${bracketed(host)}:${port}`;
}
