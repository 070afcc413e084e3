/** The reply of a mail provider to a sign-in, in the address of the page. */
export interface ProviderReply {
  readonly state?: string;
  readonly code?: string;
  /** Why the provider refuses the sign-in, such as `access_denied`. */
  readonly error?: string;
}

/** Reads the reply from the search parameters of an address. */
export function parseProviderReply(search: Record<string, unknown>): ProviderReply {
  const names = ['state', 'code', 'error'] as const;
  // The router parses numbers and JSON in an address; a code can look like a number.
  return Object.fromEntries(
    names.flatMap((name) => (search[name] === undefined ? [] : [[name, String(search[name])]])),
  );
}
