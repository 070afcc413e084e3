/** Bounds of rules, of what they look at, and of automatic replies. */
export const automationLimits = {
  /** Rules of one account. */
  rules: 200,
  conditions: 50,
  actions: 20,
  /** Code units of a value that a condition compares with. */
  valueLength: 500,
  headerNameLength: 100,
  /** Code units of the text and of the HTML of an automatic reply. */
  replyTextLength: 20_000,
  replyHtmlLength: 50_000,
  /** Code units of a message's text that conditions look at. */
  bodyLength: 100_000,
  /** Maximum and default number of e-mails that one call of `mailRules:try` or `mailRules:apply` examines. */
  scannedEmails: 200,
  defaultScannedEmails: 100,
  /** One automatic reply to each sender in this time, for each rule and for the vacation reply. */
  replyPauseMilliseconds: 7 * 86_400_000,
  /** Automatic replies of one account within an hour, to whomever they go. */
  repliesPerHour: 200,
  /** A message that was received earlier than this gets no automatic reply. */
  replyDelayMilliseconds: 3 * 86_400_000,
} as const;
