import { tryIn } from "../../support/attempts.ts";
import { attacks } from "./attacks.ts";

await tryIn("none", attacks);
