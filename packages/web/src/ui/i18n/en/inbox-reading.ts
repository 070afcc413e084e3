/** Texts of the further commands of a message. */
export const inboxReading = {
  more: 'More about this message',
  headers: 'Show the headers',
  headersTitle: 'Headers',
  raw: 'Show the raw message',
  rawTitle: 'Raw message',
  rawShortened: (shown: string, all: string) =>
    `The first ${shown} of ${all} are shown. Save the message to read all of it.`,
  save: 'Save as a file',
  unsubscribe: 'Unsubscribe',
  unsubscribeTitle: (list: string) => `Unsubscribe from ${list}?`,
  unsubscribeText: 'The server tells the mailing list that this address wants no more messages.',
  unsubscribed: (list: string) => `Unsubscribed from ${list}.`,
  unsubscribeLink: 'Open the unsubscribe page',
} as const;
