import { type Mode, modes } from "../config/config.ts";

/** A child runs with the lower of its own mode and its parent's. */
export function lowerMode(a: Mode, b: Mode): Mode {
  return modes.indexOf(a) < modes.indexOf(b) ? a : b;
}
