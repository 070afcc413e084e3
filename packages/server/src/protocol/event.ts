/** What every telling of an event says of it: the log, sockets, webhooks, hooks of extensions. */
export interface EventHead {
  readonly at: string;
  /** `<resource>.<what happened>`, such as `orders.created`, or a name that somebody published. */
  readonly name: string;
  readonly resource: string;
  /** The record's key as text, or what else was changed, such as `albums.title` of a field; null where there is neither. */
  readonly tk: string | null;
  /** `user:<id>` or `apiKey:<id>`; null where nobody signed in did it. */
  readonly actor: string | null;
  readonly requestId: string | null;
}
