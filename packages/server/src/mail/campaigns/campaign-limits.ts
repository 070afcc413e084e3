/** Limits of campaigns. */
export const campaignLimits = {
  nameLength: 255,
  /** Code units of a template. */
  textLength: 256 * 1024,
  htmlLength: 512 * 1024,
  /** Different variables of the templates of one campaign. */
  variables: 50,
  /** Messages of a campaign for each minute. */
  defaultRate: 60,
  maxRate: 6000,
  /** Records of the audience that a preview examines. */
  previewRecords: 20_000,
  /** Messages that a preview shows, and examples for each reason to leave a record out. */
  previewMessages: 3,
  previewExamples: 5,
  /** Records that are read at once, and recipients that are stored in one transaction. */
  audiencePage: 500,
  /** Messages that are put into the outbox in one transaction. */
  batch: 10,
  /** Messages of an account that wait for their first attempt. While there are more, no campaign adds any. */
  waitingMessages: 50,
  /** Code units of a value that is filled in. */
  valueLength: 2000,
} as const;
