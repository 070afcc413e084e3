/** Fixed limits of the API. A request beyond a limit gets 400, 413 or 422 with a message that names the limit. */
export const limits = {
  bodyBytes: 10 * 1024 * 1024,
  /** Maximum body of a caller without a verified credential. */
  anonymousBodyBytes: 64 * 1024,
  /**
   * Maximum bytes of a refused body that are read and discarded, so that the client can finish sending and read the
   * reply.
   */
  discardedBytes: 20 * 1024 * 1024,
  discardedMilliseconds: 2000,
  /** How long a body that is no upload may take to arrive, and how long an upload may pause. */
  bodyMilliseconds: 60_000,
  uploadIdleMilliseconds: 60_000,
  /** How long an upload of files may take. This must be shorter than the time for which unreferenced bytes are kept. */
  uploadMilliseconds: 12 * 3_600_000,
  /**
   * Total bytes of bodies in memory, of callers with and without a verified credential; large bodies are counted
   * separately.
   */
  bodiesBytes: 32 * 1024 * 1024,
  anonymousBodiesBytes: 32 * 1024 * 1024,
  /**
   * A longer body is large. At most `largeBodies` of them are in memory in total, and `largeBodiesOfSender` of one
   * sender; others wait.
   */
  largeBodyBytes: 256 * 1024,
  largeBodies: 8,
  largeBodiesOfSender: 2,
  largeBodiesWaiting: 200,
  largeBodyWaitMilliseconds: 5000,
  /** Values, different keys and levels of one JSON text. They limit the time of parsing. */
  jsonValues: 250_000,
  jsonKeys: 20_000,
  jsonLevels: 1000,
  headerBytes: 80 * 1024,
  filterTextBytes: 64 * 1024,
  jsonDepth: 100,
  bulkRecords: 1000,
  /** Files of one field of a record. */
  filesOfField: 100,
  /** Files and other parts of one upload, bytes of one part that is no file, and bytes of the headers of a part. */
  uploadParts: 100,
  uploadFieldBytes: 1024 * 1024,
  partHeaderBytes: 16 * 1024,
  /** Uploads of files under way in one application, in total and of one sender. */
  uploads: 64,
  uploadsOfSender: 8,
  /** Exports under way in one application, in total and of one sender. Each reads records in advance. */
  exports: 32,
  exportsOfSender: 8,
  /** Bytes and pixels of a picture of which thumbnails are made, and the time and memory for one of them. */
  thumbnailSourceBytes: 64 * 1024 * 1024,
  thumbnailPixels: 200_000_000,
  thumbnailMilliseconds: 15_000,
  thumbnailMemoryBytes: 512 * 1024 * 1024,
  /** Processes that make thumbnails, requests that wait for one, in total and of one sender, and how long they wait. */
  thumbnailProcesses: 2,
  thumbnailRequests: 100,
  thumbnailRequestsOfSender: 25,
  thumbnailWaitMilliseconds: 20_000,
  pageSizeDefault: 20,
  maxPageSize: 1000,
  maxExactCount: 100_000,
  /** Entries of a list of a system resource that is requested without paging. */
  wholeList: 100_000,
  filterDepth: 16,
  filterConditions: 500,
  inValues: 10_000,
  /** Characters of all values of a filter. */
  filterValues: 2 * 1024 * 1024,
  patternLength: 1000,
  /** Code points of titles and display names, and of descriptions. */
  titleLength: 255,
  descriptionLength: 10_000,
  /** Characters of the JSON text of one value in a definition: display hints, defaults, metadata, filters. */
  definitionJsonLength: 65_536,
  /** Field names in the lists of one permission. */
  permissionFields: 1000,
  /** Indexes of a collection. */
  indexes: 64,
  /** Fields of a collection that have a search index. */
  searchIndexes: 16,
  pathDepth: 5,
  /** Relations in all paths of one filter. Each becomes a subquery with the row filter of its target. */
  filterRelations: 100,
  appends: 50,
  appendedRecords: 1000,
  sortTerms: 16,
  recordsByFilter: 10_000,
  recordsInReply: 1000,
  /** Records that the cascades of one write can reach. */
  maxCascade: 100_000,
  /** Records that a cascade on the event loop can reach; larger cascades run in a worker thread. */
  maxCascadeOnEventLoop: 1000,
  queryMilliseconds: 5000,
  /** Records of one chunk of a stream. Larger chunks use more memory. */
  streamChunk: 100,
  /** Characters of a chunk. After longer chunks, the next ones have fewer records. */
  streamChunkLength: 4 * 1024 * 1024,
  /** Keys that a stream reads in advance if its order may require a sort of all records. */
  streamKeys: 20_000,
  /** Events of one page, and events that one request scans before it returns a cursor. */
  eventsPage: 1000,
  eventsScanned: 5000,
  /** Characters of a record in an event or a webhook message. Clients read longer records by their key. */
  recordInEvent: 256 * 1024,
  /**
   * Characters of records that the subscriptions share for one page of events. Beyond that, each subscription reads its
   * own.
   */
  recordsInPage: 64 * 1024 * 1024,
  waitSeconds: 30,
  /** Concurrent requests that wait for events. */
  waiters: 1000,
  payloadBytes: 64 * 1024,
  /** Bytes of one message of a client on a socket. It contains at most one filter. */
  messageBytes: 80 * 1024,
  subscriptions: 100,
  /** Records that one connection can announce to have open. */
  presences: 20,
  /** Characters of the resources and filters of one connection's subscriptions. */
  subscriptionsLength: 128 * 1024,
  /** Records that a subscription tracks as known to its reader, and those of all subscriptions of a connection. */
  knownRecords: 10_000,
  knownRecordsInAll: 50_000,
  /** Measures and dimensions of a query. */
  queryMeasures: 20,
  queryDimensions: 10,
  /** Operations of a batch, their total time, and the bytes of their results and of the results that they refer to. */
  batchOperations: 200,
  batchMilliseconds: 5000,
  batchBytes: 64 * 1024 * 1024,
  referredBytes: 10 * 1024 * 1024,
  /** How long replies are stored for repeated requests, their maximum length, and their number in an application. */
  storedReplyMilliseconds: 24 * 3_600_000,
  storedReplyBytes: 256 * 1024,
  maxStoredReplies: 50_000,
  queryRows: 10_000,
  /**
   * Limits of the Model Context Protocol: records of one reply, bytes of one reply, and tools on one page of their
   * list.
   */
  mcpRows: 100,
  mcpReplyBytes: 256 * 1024,
  mcpTools: 100,
  /** Fields by which an import finds a record. */
  importMatchFields: 5,
  /** An import of at most this many rows is one transaction of its request. A transaction of a longer one imports this many rows. */
  importRows: 1000,
  /** UTF-16 code units after which a transaction of a longer import ends earlier. */
  importPartLength: 2 * 1024 * 1024,
  /** Errors in the reply to an import. */
  importErrors: 100,
  /** Length of the errors in the reply to a dry run. */
  dryRunErrorBytes: 256 * 1024 * 1024,
  /** Imports that run at the same time, in total and of one user. The others wait. */
  imports: 4,
  importsOfUser: 2,
  /** How long an import is stored after it has ended. */
  importMilliseconds: 30 * 24 * 3_600_000,
} as const;
