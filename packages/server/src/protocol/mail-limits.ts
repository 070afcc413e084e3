/** Bounds of a raw message and of what is made of it. What passes them is stored with what was read, never refused; `rawBytes` alone refuses. */
export const mailLimits = {
  rawBytes: 50 * 1024 * 1024,
  /** An mbox file that is sent at once; over it the request is refused. */
  uploadBytes: 4 * 1024 ** 3,
  headerBytes: 256 * 1024,
  parts: 1000,
  /** Parts inside parts, messages inside messages. */
  depth: 64,
  parseMilliseconds: 10_000,
  /** Code units of a text and of an HTML part that are kept; the raw message keeps all. */
  textLength: 2 * 1024 * 1024,
  htmlLength: 2 * 1024 * 1024,
  /** Images that stand in the HTML itself (`data:`), each. */
  dataImageLength: 256 * 1024,
  references: 100,
  addresses: 2000,
  snippetLength: 200,
  filenameLength: 255,
  /** Bytes of an image of another place that is shown, and how many are fetched at once for one application. */
  remoteImageBytes: 5 * 1024 * 1024,
  remoteImages: 8,
  /** Words and code units of a search. */
  searchWords: 32,
  searchLength: 1000,
  /** Ids by which a message is joined to a conversation. */
  threadIds: 102,
  /** Addresses of a message by which it may be joined to others of its subject. */
  subjectParties: 100,
  /** Addresses that a message itself shows to be the account's. */
  ownAddresses: 20,
  /** Further addresses of an account. */
  aliases: 100,
  /** Those that one message goes to, together. */
  recipients: 500,
  /** Code units of a subject that is written here. */
  subjectLength: 500,
  /** Files of a message that is written here, and the bytes of all of them. */
  files: 100,
  fileBytes: 25 * 1024 * 1024,
  /** How long a message that was sent can be called back at least. */
  undoMilliseconds: 10_000,
  /** How far ahead a message may be sent. */
  sendAheadMilliseconds: 366 * 86_400_000,
} as const;
