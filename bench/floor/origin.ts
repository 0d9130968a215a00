/** A server in a process of its own, for what is measured of the proxies: says its port, then obeys. */
import { startOrigin } from "../../test/support/egress.ts";
import { obey } from "../../test/support/orders.ts";

const origin = await startOrigin(obey);
console.log(origin.port);
