import { join } from "node:path";
import { binary } from "../test/support/koda.ts";
import { cost, type Figure, interleaved, median } from "./measure.ts";

/** The time of `koda --version`, compared with a program that does nothing. */
export async function measure(floors: string): Promise<Figure[]> {
  const [koda = [], empty = []] = await interleaved(
    30,
    () => cost([binary, "--version"]),
    () => cost([join(floors, "empty")]),
  );
  const value = median(koda.map(({ wallMs }) => wallMs));
  const floor = median(empty.map(({ wallMs }) => wallMs));
  return [{ what: "koda --version, wall", value, unit: "ms", floor, bar: "≤ 1.5 x", holds: value <= 1.5 * floor }];
}
