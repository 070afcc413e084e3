/** What a thread of the parser finds out about the signatures of a raw message. */

/** The TXT records of a name, each in the pieces in which DNS has them, or the code of the failed lookup. */
export type KeyAnswer = { readonly records: readonly (readonly string[])[] } | { readonly code: string };

/** A message whose signatures are to be checked. */
export interface SignatureRequest {
  /** The whole message, or only its headers where it has no signatures. */
  readonly raw: Uint8Array;
  /** The records of the keys, by name in lower case. A thread does not query name servers itself. */
  readonly keys: Readonly<Record<string, KeyAnswer>>;
  /** The domain of the sender. Its signatures are checked first. */
  readonly senderDomain: string | null;
}

/** A DKIM signature. */
export interface SignatureResult {
  /** As in RFC 8601. */
  readonly result: string;
  /** The domain that signed. */
  readonly domain: string | null;
  readonly reason: string | null;
}

/** The seals of the servers that a message was forwarded by. */
export interface ChainResult extends SignatureResult {
  /** The sender's domain, if the last of them says that the message passed DMARC when it arrived there; else null. */
  readonly confirmedDomain: string | null;
}

export interface SignatureReport {
  readonly dkim: readonly SignatureResult[];
  /** Null where the message has no ARC headers. */
  readonly arc: ChainResult | null;
  /** Addresses of all From headers. */
  readonly from: readonly string[];
  /** Number of From headers. */
  readonly fromHeaders: number;
  /** The first trace headers, in order: name in lower case, value as written. */
  readonly trace: readonly (readonly [name: string, value: string])[];
}

/** Headers that say which way a message came. */
export const traceNames: ReadonlySet<string> = new Set([
  'authentication-results',
  'received-spf',
  'received',
  'return-path',
]);

/** At most this many signatures of a message are checked, those of the sender's domain first, then the topmost. */
export const maxSignatures = 8;
/** A message with more seals has been forwarded in a loop, or is an attack: none is checked. */
export const maxSeals = 10;
