import { expect, test } from "bun:test";
import { developmentHosts, gitHosts } from "../../../lib/egress/rules/allowlist.ts";
import { reached } from "../../support/reach.ts";

const expected = [
  ..."github.com GitHub.com github.com. api.github.com codeload.github.com raw.githubusercontent.com".split(" "),
  ..."objects.githubusercontent.com gitlab.com bitbucket.org a.npmjs.org registry.yarnpkg.com jsr.io".split(" "),
  ..."npm.jsr.io deno.land pypi.org test.pypi.org files.pythonhosted.org crates.io static.crates.io".split(" "),
  ..."index.crates.io static.rust-lang.org proxy.golang.org sum.golang.org rubygems.org index.rubygems.org".split(" "),
  ..."repo.maven.apache.org repo1.maven.org plugins.gradle.org services.gradle.org api.nuget.org".split(" "),
  ..."ftp.debian.org archive.ubuntu.com security.ubuntu.com dl-cdn.alpinelinux.org registry-1.docker.io".split(" "),
  ..."auth.docker.io ghcr.io".split(" "),
];

test("what development needs is reached on the web's ports", async () => {
  const targets = expected.flatMap((host) => [`${host}:443`, `${host}:80`]);
  expect(await reached(targets)).toEqual(targets);
});

test("the table has no host twice", () => {
  const all = [...developmentHosts, ...gitHosts];
  expect(all.filter((host, index) => all.indexOf(host) !== index)).toEqual([]);
});

test("only the hosts marked as git are reached over SSH", async () => {
  const targets = [...expected, "ssh.github.com", "gist.github.com"].map((host) => `${host}:22`);
  expect(await reached(targets)).toEqual([
    "github.com:22",
    "GitHub.com:22",
    "github.com.:22",
    "gitlab.com:22",
    "bitbucket.org:22",
  ]);
  expect(await reached(["github.com:22"], { mode: "none" })).toEqual([]);
});

const lookalikes = [
  ..."github.com.evil.test xgithub.com github.com.br github.co github.comm www.github.com evil.github.com".split(" "),
  ..."github-com.evil.test github_com _github.com githubcom github..com github.com.. .github.com".split(" "),
  ..."githubusercontent.com raw.githubusercontent.com.evil a.b.githubusercontent.com".split(" "),
  ..."rawgithubusercontent.com a.githubusercontent.com-evil.test npmjs.org npmjs.org.evil.test".split(" "),
  ..."a.b.npmjs.org notnpmjs.org npmjs.com pypi.org.evil.test pypi.0rg a.b.pypi.org debian.org".split(" "),
  ..."a.ftp.debian.org docker.io ghcr.io.evil.test gіthub.com githuь.com gitһub.com ɡithub.com".split(" "),
  ..."xn--gthub-n2e.com xn--github-.com xn--github-9pa.com ｇｉｔｈｕｂ.com github。com github．com ⓖithub.com".split(
    " ",
  ),
  ..."git\u00adhub.com git\u200bhub.com github.com\u200b github\u2024com github.com%00 github.com%2f".split(" "),
  ..."github%2ecom github.com\0 github.com\0.evil.test github.com:443@evil github.com@evil.test".split(" "),
  ..."evil@github.com github.com# github.com? github.com/ github.com\\.evil.test //github.com 140.82.112.3".split(" "),
  ..."[github.com]".split(" "),
  "github.com\n",
  "github.com ",
  "\tgithub.com",
];

test("nothing that only looks like an allowed host is reached", async () => {
  const targets = lookalikes.flatMap((host) => [`${host}:443`, `${host}:80`]);
  expect(await reached(targets)).toEqual([]);
});
