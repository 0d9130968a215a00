import { readRegularFile } from "../files/read.ts";
import { type Wire, wires } from "../config/config.ts";
import { arrayIn, countIn, isRecord, type JsonRecord, parseJson, recordIn, stringIn } from "../config/json.ts";
import { KodaError } from "../errors.ts";

/** The model traffic of a process, one JSON line each: the header, then every request with its response, in order. */
export type Cassette = { header: Header; exchanges: Exchange[] };

export type Header = {
  koda_cassette: 1;
  version: string;
  recorded_at: string;
  /** Absent in a cassette that was written by hand, like `model` and `cwd`. */
  provider?: string;
  model?: string;
  cwd?: string;
};

export type Exchange = {
  /** The conversation, where one process had several; absent for the first. */
  track?: string;
  /** Its project, where that is not the header's. */
  cwd?: string;
  /** The agents in the background whose answers came in since the track's last request. */
  answers?: readonly string[];
  request: RecordedRequest;
  response: RecordedResponse;
};

export type RecordedRequest = { wire: Wire; path: string; body: unknown };

/** The joined frames are the body as it came. A status of 0 is a connection that failed. */
export type RecordedResponse = {
  status: number;
  headers: Record<string, string>;
  frames: string[];
  /** The error code when the connection broke after the frames. */
  cut?: string;
};

export function readCassette(file: string): Cassette {
  const bytes = readRegularFile(file, largest);
  if (bytes === undefined) throw unreadable(file, "no such file");
  if ("problem" in bytes) throw unreadable(file, bytes.problem);
  return parseCassette(new TextDecoder().decode(bytes), file);
}

const largest = 512 * 1024 * 1024;

export function parseCassette(text: string, file: string): Cassette {
  const lines = text.split("\n").map((line, index) => ({ line, number: index + 1 }));
  const [first, ...rest] = lines.filter(({ line }) => line.trim() !== "");
  const header = first && headerOf(parseJson(first.line));
  if (header === undefined) throw unreadable(file, 'its first line is not the header {"koda_cassette":1,…}');
  const exchanges = rest.map(({ line, number }) => {
    const exchange = exchangeOf(parseJson(line));
    if (exchange === undefined) throw unreadable(file, `line ${number} is not a request with its response`);
    return exchange;
  });
  return { header, exchanges };
}

/** The model that the recorded requests were for. */
type RecordedModel = { provider: string; model: string; wire: Wire };

export function recordedModel({ header, exchanges }: Cassette): RecordedModel {
  const [first] = exchanges;
  const asked = first && isRecord(first.request.body) ? stringIn(first.request.body, "model") : undefined;
  return {
    provider: header.provider ?? "replay",
    model: header.model ?? asked ?? "unknown",
    wire: first?.request.wire ?? "chat",
  };
}

/** The same of one track; undefined when it has no request. */
export function modelOfTrack(
  { exchanges }: Cassette,
  track: string,
): Pick<RecordedModel, "model" | "wire"> | undefined {
  const request = exchanges.find((exchange) => exchange.track === track)?.request;
  const model = request && isRecord(request.body) ? stringIn(request.body, "model") : undefined;
  return request && model !== undefined ? { model, wire: request.wire } : undefined;
}

function headerOf(value: unknown): Header | undefined {
  if (!isRecord(value) || value.koda_cassette !== 1) return undefined;
  const [provider, model, cwd] = ["provider", "model", "cwd"].map((key) => stringIn(value, key));
  return {
    koda_cassette: 1,
    version: stringIn(value, "version") ?? "",
    recorded_at: stringIn(value, "recorded_at") ?? "",
    ...(provider !== undefined && { provider }),
    ...(model !== undefined && { model }),
    ...(cwd !== undefined && { cwd }),
  };
}

function exchangeOf(value: unknown): Exchange | undefined {
  if (!isRecord(value)) return undefined;
  const request = recordIn(value, "request");
  const response = recordIn(value, "response");
  const { wire } = request;
  const status = countIn(response, "status");
  const frames = arrayIn(response, "frames").filter((frame) => typeof frame === "string");
  if (!isWire(wire) || !isRecord(request.body) || !isStatus(status)) return undefined;
  if (!Array.isArray(response.frames) || frames.length < response.frames.length) return undefined;
  const cut = stringIn(response, "cut");
  const [track, cwd] = ["track", "cwd"].map((key) => stringIn(value, key));
  const answers = arrayIn(value, "answers").filter((agent) => typeof agent === "string");
  return {
    ...(track !== undefined && { track }),
    ...(cwd !== undefined && { cwd }),
    ...(answers.length > 0 && { answers }),
    request: { wire, path: stringIn(request, "path") ?? "", body: request.body },
    response: { status, headers: headersOf(recordIn(response, "headers")), frames, ...(cut !== undefined && { cut }) },
  };
}

function isWire(value: unknown): value is Wire {
  return wires.some((wire) => wire === value);
}

function isStatus(status: number | undefined): status is number {
  return status === 0 || (status !== undefined && status >= 200 && status < 600);
}

function headersOf(record: JsonRecord): Record<string, string> {
  return Object.fromEntries(
    Object.entries(record).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function unreadable(file: string, problem: string): KodaError {
  return new KodaError("usage", `Cannot read the cassette "${file}": ${problem}`);
}
