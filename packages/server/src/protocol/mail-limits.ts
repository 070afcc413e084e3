/**
 * Limits of mail. A received message beyond a limit is stored with the part that was read. Only `rawBytes` leads to a refusal.
 */
export const mailLimits = {
  rawBytes: 50 * 1024 * 1024,
  /**
   * Larger messages of a first synchronisation are stored by their headers first, and their bodies are downloaded afterwards. Half of the
   * bytes of a mailbox or more are in the few messages above it; headers and structure of a smaller one cost nearly as much as all of it.
   */
  headersFirstBytes: 64 * 1024,
  /** Bytes of an mbox file in one request. */
  uploadBytes: 4 * 1024 ** 3,
  headerBytes: 256 * 1024,
  parts: 1000,
  /** Nesting of parts and embedded messages. */
  depth: 64,
  parseMilliseconds: 10_000,
  /** Stored code units of the text and of the HTML. The raw message is stored completely. */
  textLength: 2 * 1024 * 1024,
  htmlLength: 2 * 1024 * 1024,
  /** Characters of one image in the HTML itself (`data:`). */
  dataImageLength: 256 * 1024,
  references: 100,
  addresses: 2000,
  snippetLength: 200,
  filenameLength: 255,
  /** Bytes of a remote image, and concurrent downloads of images for one application. */
  remoteImageBytes: 5 * 1024 * 1024,
  remoteImages: 8,
  /** Words and code units of a search. */
  searchWords: 32,
  searchLength: 1000,
  /** Message-IDs by which a message is assigned to a conversation. */
  threadIds: 102,
  /** Addresses of a message by which it can be grouped with others of the same subject. */
  subjectParties: 100,
  /** Contacts that one action merges into another one, and addresses of a contact besides its own. */
  mergedContacts: 50,
  otherAddresses: 100,
  /** Addresses of the account that a message reveals. */
  ownAddresses: 20,
  /** Labels that users give an e-mail, and code units of each. */
  labels: 100,
  /** Browsers of a user that get push messages. */
  pushSubscriptions: 20,
  /** Saved searches of a user. */
  savedSearches: 100,
  labelLength: 200,
  /** Code units of an internal note, and the users whom it can mention. */
  noteLength: 20_000,
  mentions: 50,
  /** Maximum time for which a conversation can be snoozed: five years. */
  snoozeMilliseconds: 5 * 366 * 86_400_000,
  /** Days after which notifications are deleted. */
  notificationDays: 90,
  /** Mailboxes of a mail server. An account with more is not synchronised. */
  serverMailboxes: 5000,
  /** Aliases of an account. */
  aliases: 100,
  /** Recipients of one message in total. */
  recipients: 500,
  /** Code units of the subject of a composed message. */
  subjectLength: 500,
  /** Attachments of a composed message, and their bytes in total. */
  files: 100,
  fileBytes: 25 * 1024 * 1024,
  /** Minimum time during which sending a message can be undone. */
  undoMilliseconds: 10_000,
  /** Maximum time for which a message can be scheduled in advance. */
  sendAheadMilliseconds: 366 * 86_400_000,
  /** How far in the past a scheduled time may be: the clocks of clients are not exact. */
  sendLateMilliseconds: 60_000,
} as const;
