/** The caller of a request, from a verified credential or without one. */
export interface Caller {
  /** `operator`: the command line on the machine of the server. */
  readonly type: 'session' | 'apiKey' | 'operator' | 'anonymous';
  /** The id of the key or login; null without a credential. */
  readonly credentialId: number | null;
  readonly credentialName: string | null;
  /** Milliseconds since the epoch, or null for never. */
  readonly expiresAt: number | null;
  /** The one role that the caller acts as. */
  readonly role: string;
  /** The roles that the user holds. A key only has its own. */
  readonly roles: readonly string[];
  /** The user who signed in or created the key, without `password`. */
  readonly user: Readonly<Record<string, unknown>> | null;
  /** The origin of the request, if it is a write. */
  readonly origin?: Origin;
}

/** What the audit journal stores of a request in addition to the caller. */
export interface Origin {
  /** The IP address; null if it is not known. */
  readonly address: string | null;
  /** `<resource>:<action>` as in the request. */
  readonly action: string;
  /** The tool of the Model Context Protocol that makes the request; absent for other requests. */
  readonly tool?: ToolCall;
}

/** A call of a tool. All changes that it makes enter the audit journal. */
export interface ToolCall {
  readonly name: string;
  /** Set when an entry about it is durable. */
  isJournaled: boolean;
}

/** The actor of events: `user:3`, `apiKey:7`, `operator`, or null for anonymous callers. */
export function formatActor(caller: Caller): string | null {
  if (caller.type === 'apiKey') return `apiKey:${caller.credentialId}`;
  if (caller.type === 'operator') return 'operator';
  return caller.type === 'session' ? `user:${caller.user?.['id']}` : null;
}
