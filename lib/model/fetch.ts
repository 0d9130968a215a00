/** All requests to providers go through a function of this type; a cassette is one as well. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

type FetchInit = {
  method: "GET" | "POST";
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
  /** A pool of connections other than Bun's usual one. */
  session?: Bun.FetchSession;
};

/**
 * Redirects are not followed: the key would go to a host that the user did not choose. The platform's timeout of five
 * minutes is off, since a model may think for longer; koda has its own limit for silence.
 */
export const platformFetch: Fetch = (url, init) => fetch(url, { ...init, redirect: "manual", timeout: false });
