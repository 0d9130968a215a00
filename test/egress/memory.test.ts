import { expect, test } from "bun:test";
import { startOrigin } from "../support/egress.ts";
import { obey } from "../support/orders.ts";
import { memoryOf, startProxyProcess } from "../support/proxyprocess.ts";
import { slowPassages } from "../support/slow.ts";

/** Left to the garbage collector, as much as this passing costs more than 30 MB; given back, 10 to 17. */
const megabytes = 256;
const allowedMb = 25;

test.skipIf(process.platform !== "linux").each([...slowPassages])(
  `${megabytes} MB $name, take little memory`,
  async ({ pass }) => {
    await using origin = await startOrigin(obey);
    await using proxy = await startProxyProcess(`127.0.0.1:${origin.port}`);
    const before = memoryOf(proxy.pid);
    await pass({ proxy, port: origin.port, megabytes });
    expect(memoryOf(proxy.pid, "VmHWM") - before).toBeLessThan(allowedMb);
  },
  120_000,
);
