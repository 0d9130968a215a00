import type { Socket } from "node:net";

export type HttpRequest = { method: string; path: string; headers: Record<string, string>; body: string };

/** The requests of one connection, one after the other; each is read whole. Just enough HTTP/1.1 for a client of ours. */
export async function* readHttp(socket: Socket): AsyncGenerator<HttpRequest, void> {
  const input = new Input(socket);
  while (true) {
    const head = await input.upTo("\r\n\r\n");
    if (head === undefined) return;
    const [first = "", ...lines] = head.split("\r\n");
    const [method = "", path = ""] = first.split(" ");
    const headers = Object.fromEntries(lines.map(splitHeader));
    const body = headers["transfer-encoding"]
      ? await chunked(input)
      : await input.take(Number(headers["content-length"] ?? 0));
    if (body === undefined) return;
    yield { method, path, headers, body: body.toString("utf8") };
  }
}

/** What has arrived and was not read yet. Each wait ends with `undefined` when the client leaves before it is over. */
class Input {
  #bytes: Buffer[] = [];
  #arrived = Promise.withResolvers<void>();
  #over = false;

  constructor(socket: Socket) {
    const over = () => {
      this.#over = true;
      this.#arrived.resolve();
    };
    socket.on("data", (chunk: Buffer) => {
      this.#bytes.push(chunk);
      this.#arrived.resolve();
    });
    socket.on("end", over);
    socket.on("close", over);
  }

  async upTo(mark: string): Promise<string | undefined> {
    while (true) {
      const all = this.#joined();
      const end = all.indexOf(mark);
      if (end >= 0) {
        this.#bytes = [all.subarray(end + mark.length)];
        return all.toString("latin1", 0, end);
      }
      if (!(await this.#more())) return undefined;
    }
  }

  async take(count: number): Promise<Buffer | undefined> {
    while (this.#bytes.reduce((sum, chunk) => sum + chunk.length, 0) < count) {
      if (!(await this.#more())) return undefined;
    }
    const all = this.#joined();
    this.#bytes = [all.subarray(count)];
    return all.subarray(0, count);
  }

  #joined(): Buffer {
    const all = this.#bytes.length === 1 && this.#bytes[0] ? this.#bytes[0] : Buffer.concat(this.#bytes);
    this.#bytes = [all];
    return all;
  }

  async #more(): Promise<boolean> {
    if (this.#over) return false;
    await this.#arrived.promise;
    this.#arrived = Promise.withResolvers<void>();
    return true;
  }
}

async function chunked(input: Input): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  while (true) {
    const size = await input.upTo("\r\n");
    if (size === undefined) return undefined;
    const chunk = await input.take(Number.parseInt(size, 16));
    if (chunk === undefined || (await input.take(2)) === undefined) return undefined;
    if (chunk.length === 0) return Buffer.concat(chunks);
    chunks.push(chunk);
  }
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
