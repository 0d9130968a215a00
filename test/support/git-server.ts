import { join } from "node:path";
import type { Serve } from "./clients.ts";

/** git's own server for HTTP, which speaks CGI, for the repositories below a directory. */
export function serveGit(root: string): Serve {
  const program = join(execPath(), "git-http-backend");
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const child = Bun.spawn([program], {
      env: {
        PATH: process.env.PATH ?? "",
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: "1",
        PATH_INFO: decodeURIComponent(pathname),
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers.get("content-type") ?? "",
        HTTP_CONTENT_ENCODING: request.headers.get("content-encoding") ?? "",
        HTTP_GIT_PROTOCOL: request.headers.get("git-protocol") ?? "",
        // Whoever has a name may push.
        REMOTE_USER: "somebody",
        REMOTE_ADDR: "127.0.0.1",
      },
      stdin: new Blob([await request.arrayBuffer()]),
      stdout: "pipe",
      stderr: "inherit",
    });
    return responseOf(Buffer.from(await child.stdout.bytes()));
  };
}

/** Headers, an empty line, the body. */
function responseOf(output: Buffer): Response {
  const end = output.indexOf("\r\n\r\n");
  const lines = output.toString("latin1", 0, end).split("\r\n");
  const headers = new Headers();
  for (const line of lines) headers.append(line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim());
  const status = Number.parseInt(headers.get("status") ?? "200", 10);
  headers.delete("status");
  return new Response(output.subarray(end + 4), { status, headers });
}

function execPath(): string {
  return Bun.spawnSync(["git", "--exec-path"]).stdout.toString().trim();
}
