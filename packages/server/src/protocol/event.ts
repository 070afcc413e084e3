/** The properties of an event that the log, sockets, webhooks and hooks of extensions have in common. */
export interface EventHead {
  readonly at: string;
  /** `<resource>.<verb>`, such as `orders.created`, or the name of a published event. */
  readonly name: string;
  readonly resource: string;
  /**
   * The record's key as text, or the name of another changed object, such as `albums.title` for a field; null for
   * events without either.
   */
  readonly tk: string | null;
  /** `user:<id>` or `apiKey:<id>`; null for callers without a credential and for the server itself. */
  readonly actor: string | null;
  readonly requestId: string | null;
}
