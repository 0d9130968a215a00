import { expect, test } from "bun:test";
import { Mailbox } from "../../lib/async/mailbox.ts";

function holding(...values: number[]) {
  const mailbox = new Mailbox<number>();
  for (const value of values) mailbox.post(value);
  return mailbox;
}

test("a reader that leaves early loses nothing that it has not seen", async () => {
  const mailbox = holding(1, 2, 3, 4);
  for (const value of mailbox.drain()) if (value === 2) break;
  for await (const value of mailbox.until(Promise.resolve())) if (value === 3) break;
  mailbox.post(5);
  expect([...mailbox.drain()]).toEqual([4, 5]);
});

test("values that come while others are read come out in their order", () => {
  const mailbox = holding(1, 2);
  const read: number[] = [];
  for (const value of mailbox.drain()) {
    read.push(value);
    if (value === 1) mailbox.post(3);
  }
  expect(read).toEqual([1, 2, 3]);
});

test("all values come before the result of the work, and before its failure", async () => {
  const mailbox = new Mailbox<string>();
  const work = async () => {
    mailbox.post("a");
    await Promise.resolve();
    mailbox.post("b");
    throw new Error("failed");
  };
  const read: string[] = [];
  const reading = (async () => {
    for await (const value of mailbox.until(work())) read.push(value);
  })();
  await expect(reading).rejects.toThrow("failed");
  expect(read).toEqual(["a", "b"]);
});
