/** The one way out to a provider. A cassette is another function of this type. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

export type FetchInit = {
  method: "GET" | "POST";
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
};

/**
 * A redirect is never followed, for the key would go with it to a host that nobody chose. Silence has our own limit, so
 * the platform's five minutes are off: a model may think for longer.
 */
export const platformFetch: Fetch = (url, init) => fetch(url, { ...init, redirect: "manual", timeout: false });
