import { expect, test } from "bun:test";
import { exec } from "../support/koda.ts";
import { status } from "../support/model-reply.ts";
import { startModelServer } from "../support/model-server.ts";
import { makePlace } from "../support/place.ts";

test.each<[what: string, code: string, exit: number, status: number, body: object, says: string]>([
  [
    "a region that is not served",
    "region",
    1,
    400,
    [
      {
        error: { code: 400, message: "User location is not supported for the API use.", status: "FAILED_PRECONDITION" },
      },
    ],
    "Choose another provider with -m, or a gateway of your own with --base-url",
  ],
  [
    "a wrong key",
    "credentials",
    4,
    400,
    { code: "Client specified an invalid argument", error: "Incorrect API key provided: xa***1." },
    "Check MY_KEY, or name another variable with --api-key-env",
  ],
  [
    "a key without permission",
    "credentials",
    4,
    403,
    { message: "You don't have access to the model with the specified model ID." },
    "custom does not allow this request with the key from MY_KEY",
  ],
  [
    "an account without credit",
    "quota",
    9,
    429,
    { error: { code: "1113", message: "余额不足或无可用资源包,请充值。" } },
    "Check the plan and the billing of the account",
  ],
  [
    "a model that is gone",
    "model_not_found",
    1,
    400,
    { error: { message: "The model `x` has been decommissioned and is no longer supported." } },
    "Choose another with -m",
  ],
  [
    "content that is refused",
    "content_policy",
    1,
    400,
    { code: "DataInspectionFailed", message: "Input data may contain inappropriate content." },
    "Rephrase the prompt, or choose another model with -m",
  ],
])("%s is %s, exit %d, and the message says what to do", async (_what, code, exit, httpStatus, body, says) => {
  await using place = makePlace();
  await using server = await startModelServer([status(httpStatus, body)]);
  const flags = ["--no-sandbox", "--api-key-env", "MY_KEY"];
  const { end, stderr } = await exec(place, server, [...flags, "hi"], { env: { MY_KEY: "key-of-the-test" } });
  expect(end).toMatchObject({ exit, error: { code, http_status: httpStatus, retryable: false } });
  expect(end.error?.message).toContain(says);
  expect(stderr).toContain(says);
  expect(server.requests).toHaveLength(1);
});
