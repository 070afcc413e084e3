/** Who asks, as one request sees it. Made from a verified credential, or for callers without one. */
export interface Caller {
  readonly type: 'session' | 'apiKey' | 'anonymous';
  /** Of the key or login; null without a credential. */
  readonly credentialId: number | null;
  readonly credentialName: string | null;
  /** Milliseconds since the epoch, or null for never. */
  readonly expiresAt: number | null;
  /** The one role that the caller acts as. */
  readonly role: string;
  /** Roles that the user holds; a key holds its own alone. */
  readonly roles: readonly string[];
  /** The user who signed in or created the key; `password` is never in it. */
  readonly user: Readonly<Record<string, unknown>> | null;
  /** How the request came, where it is one that writes. */
  readonly origin?: Origin;
}

/** What the audit journal says of a request besides who sent it. */
export interface Origin {
  /** Null where it is not known. */
  readonly address: string | null;
  /** `<resource>:<action>` as it was asked for. */
  readonly action: string;
}

/** How events name who did it: `user:3`, `apiKey:7`, or null. */
export function formatActor(caller: Caller): string | null {
  if (caller.type === 'apiKey') return `apiKey:${caller.credentialId}`;
  return caller.type === 'session' ? `user:${caller.user?.['id']}` : null;
}
