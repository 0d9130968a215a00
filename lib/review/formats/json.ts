import { findingsOf } from "../findings.ts";
import type { ReviewReport } from "../report.ts";

/** The findings object, for scripts. */
export const jsonReport: ReviewReport = (review) => JSON.stringify(findingsOf(review), undefined, 2);
