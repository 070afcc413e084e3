/** Fixed bounds of the wire contract; each is refused with 400, 413 or 422 and named in the message. */
export const limits = {
  bodyBytes: 10 * 1024 * 1024,
  /** The body of a caller without a verified credential, whatever the action. */
  anonymousBodyBytes: 64 * 1024,
  /** What is read and discarded of a body that was refused, so that the client can finish sending and read the reply. */
  discardedBytes: 20 * 1024 * 1024,
  discardedMilliseconds: 2000,
  /** Bodies in memory at once, of callers with and without a verified credential, but for large ones. */
  bodiesBytes: 32 * 1024 * 1024,
  anonymousBodiesBytes: 32 * 1024 * 1024,
  /** A longer body is large: so many are in memory at once, in all and of one sender; others wait. */
  largeBodyBytes: 256 * 1024,
  largeBodies: 8,
  largeBodiesOfSender: 2,
  largeBodiesWaiting: 200,
  largeBodyWaitMilliseconds: 5000,
  /** Values, different keys and nesting of one JSON text; they bound the time that parsing takes. */
  jsonValues: 250_000,
  jsonKeys: 20_000,
  jsonLevels: 1000,
  headerBytes: 80 * 1024,
  filterTextBytes: 64 * 1024,
  jsonDepth: 100,
  bulkRecords: 1000,
  pageSizeDefault: 20,
  maxPageSize: 1000,
  maxExactCount: 100_000,
  /** Entries of a list of a system resource that is requested without paging. */
  wholeList: 100_000,
  filterDepth: 16,
  filterConditions: 500,
  inValues: 10_000,
  /** Characters of all values of a filter: they are bound to its statement, and told apart in caches. */
  filterValues: 2 * 1024 * 1024,
  patternLength: 1000,
  /** Code points of titles and names for people, and of descriptions. */
  titleLength: 255,
  descriptionLength: 10_000,
  /** Characters of the JSON text of one value in a definition: hints for displays, defaults, metadata, filters. */
  definitionJsonLength: 65_536,
  /** Names of fields that one permission lists. */
  permissionFields: 1000,
  /** Indexes over several fields that a collection may have. */
  indexes: 64,
  pathDepth: 5,
  /** Relations that all paths of one filter follow together: each becomes a subquery with the target's row filter. */
  filterRelations: 100,
  appends: 50,
  appendedRecords: 1000,
  sortTerms: 16,
  recordsByFilter: 10_000,
  recordsInReply: 1000,
  /** Records that go along when others are destroyed. */
  maxCascade: 100_000,
  /** So many of them at most while the event loop waits. */
  maxCascadeOnEventLoop: 1000,
  queryMilliseconds: 5000,
  /** Records of one piece of a stream: more of them leave the collector more to hold. */
  streamChunk: 100,
  /** Keys that a stream reads ahead where its order may cost a sort of all records. */
  streamKeys: 20_000,
  /** Events that a reply or a socket's turn carries, and those that a reply looks at before it says where to go on. */
  eventsPage: 1000,
  eventsScanned: 5000,
  /** Characters of a record that an event or a message carries; a longer one is read by its key. */
  recordInEvent: 256 * 1024,
  /** Characters of records that listeners of one page of events share; those for whom there is no room read for themselves. */
  recordsInPage: 64 * 1024 * 1024,
  waitSeconds: 30,
  /** Requests that wait for events at once. */
  waiters: 1000,
  payloadBytes: 64 * 1024,
  /** A message of a socket: a filter and what is around it. */
  messageBytes: 80 * 1024,
  subscriptions: 100,
  /** Characters of the resources and filters of one connection's subscriptions. */
  subscriptionsLength: 128 * 1024,
  /** Records that a subscription knows its reader to have, and those of all subscriptions of a connection. */
  knownRecords: 10_000,
  knownRecordsInAll: 50_000,
  /** Members of a query, and rows of its result. */
  queryMeasures: 20,
  queryDimensions: 10,
  /** Operations of a batch, how long all of them may take, and the JSON text of their results and of what they refer to. */
  batchOperations: 200,
  batchMilliseconds: 5000,
  batchBytes: 64 * 1024 * 1024,
  referredBytes: 10 * 1024 * 1024,
  /** How long replies are kept for repeated requests, how long a reply may be, and how many an application keeps. */
  storedReplyMilliseconds: 24 * 3_600_000,
  storedReplyBytes: 256 * 1024,
  maxStoredReplies: 50_000,
  queryRows: 10_000,
} as const;
