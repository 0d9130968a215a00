declare const KODA_VERSION: string | undefined;

/** The version the build put in; a run from source has none. */
export const version = typeof KODA_VERSION === "string" ? KODA_VERSION : "0.0.0-source";
