import { KodaError } from "../lib/errors.ts";
import type { FleetEvent } from "../lib/fleet/events.ts";
import type { FleetStore } from "../lib/fleet/store.ts";
import type { CommandOptions } from "./options.ts";
import type { Stopper } from "./signals.ts";

type Work = {
  store: FleetStore;
  batch: string;
  options: CommandOptions<"batch run">;
  stopper: Stopper;
  note: (event: FleetEvent) => void;
};

export async function work({ batch }: Work): Promise<number> {
  throw new KodaError("internal", `No worker yet for ${batch}`);
}
