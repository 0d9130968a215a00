/** How far a run is trusted, least first. */
export const modes = ["plan", "safe", "auto"] as const;
export type Mode = (typeof modes)[number];

/** A child runs with the lower of its own mode and its parent's. */
export function lowerMode(a: Mode, b: Mode): Mode {
  return modes.indexOf(a) < modes.indexOf(b) ? a : b;
}
