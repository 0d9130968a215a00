import { expect, test } from "bun:test";
import { certificateVariables, proxyVariables } from "../../lib/egress/env.ts";

const http = { host: "127.0.0.1", port: 3128 };
const socks = { host: "127.0.0.1", port: 1080 };

test("every program finds the proxies where it looks for them", () => {
  const proxy = "http://127.0.0.1:3128";
  expect(proxyVariables({ http, socks })).toEqual({
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    ALL_PROXY: proxy,
    NO_PROXY: "localhost,127.0.0.1,::1",
    http_proxy: proxy,
    https_proxy: proxy,
    all_proxy: proxy,
    no_proxy: "localhost,127.0.0.1,::1",
    SOCKS_PROXY: "socks5h://127.0.0.1:1080",
    NODE_USE_ENV_PROXY: "1",
    npm_config_proxy: proxy,
    npm_config_https_proxy: proxy,
    npm_config_noproxy: "localhost,127.0.0.1,::1",
    YARN_HTTP_PROXY: proxy,
    YARN_HTTPS_PROXY: proxy,
    PIP_PROXY: proxy,
    CARGO_HTTP_PROXY: proxy,
    JAVA_TOOL_OPTIONS:
      "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 " +
      "-Dhttp.nonProxyHosts=localhost|127.*|[::1]",
  });
});

test("an address of IPv6 stands in brackets where a URL is wanted", () => {
  const { HTTPS_PROXY, SOCKS_PROXY } = proxyVariables({
    http: { ...http, host: "::1" },
    socks: { ...socks, host: "::1" },
  });
  expect({ HTTPS_PROXY, SOCKS_PROXY }).toEqual({
    HTTPS_PROXY: "http://[::1]:3128",
    SOCKS_PROXY: "socks5h://[::1]:1080",
  });
});

test("a client obeys them: it asks the proxy for a host that it could not find itself", async () => {
  using proxy = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: ({ url }) => new Response(`asked for ${url}`) });
  const env = proxyVariables({ http: { host: "127.0.0.1", port: proxy.port ?? 0 }, socks });
  const ask = `process.stdout.write(await (await fetch("http://no-such-host.test/x")).text())`;
  const child = Bun.spawn([process.execPath, "-e", ask], { env, stdout: "pipe", stderr: "pipe" });
  expect(await child.stdout.text()).toBe("asked for http://no-such-host.test/x");
});

test("git gives ssh the whole command for the proxy, quotes and all", async () => {
  const { GIT_SSH_COMMAND = "" } = proxyVariables({
    http,
    socks: { host: "::1", port: 1080 },
    executable: "/odd dir/it's 100%/koda",
  });
  const shell = Bun.spawnSync(["/bin/sh", "-c", `ssh() { printf '[%s]' "$@"; }; ${GIT_SSH_COMMAND} git@github.com`]);
  const expected = String.raw`'/odd dir/it'\''s 100%%/koda' ssh-tunnel --proxy [::1]:1080 %h %p`;
  expect(shell.stdout.toString()).toBe(`[-o][ProxyCommand=${expected}][git@github.com]`);
});

test("the user's own certificates are named to everyone", () => {
  const names = Object.entries(certificateVariables("/etc/own.pem"))
    .filter(([, value]) => value === "/etc/own.pem")
    .map(([name]) => name);
  expect(names).toContain("SSL_CERT_FILE");
  expect(names).toContain("NODE_EXTRA_CA_CERTS");
  expect(names).toHaveLength(9);
});
