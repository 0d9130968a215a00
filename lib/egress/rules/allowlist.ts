/** Hosts that development needs, for code, packages and images. */
export const developmentHosts: readonly string[] = words(`
  api.github.com codeload.github.com *.githubusercontent.com
  *.npmjs.org registry.yarnpkg.com jsr.io npm.jsr.io deno.land
  pypi.org *.pypi.org files.pythonhosted.org
  crates.io static.crates.io index.crates.io static.rust-lang.org
  proxy.golang.org sum.golang.org
  rubygems.org *.rubygems.org
  repo.maven.apache.org repo1.maven.org plugins.gradle.org services.gradle.org
  api.nuget.org
  *.debian.org archive.ubuntu.com security.ubuntu.com dl-cdn.alpinelinux.org
  registry-1.docker.io auth.docker.io *.docker.io ghcr.io
`);

/** These may be reached over SSH as well. */
export const gitHosts: readonly string[] = words("github.com gitlab.com bitbucket.org");

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
