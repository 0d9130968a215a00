/** The server behind the proxies, in its own process: prints its port, then follows the orders that it receives. */
import { startOrigin } from "../../test/support/egress.ts";
import { obey } from "../../test/support/orders.ts";

const origin = await startOrigin(obey);
console.log(origin.port);
