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
  invitation: {
    title: 'Invitation',
    untitled: '(no title)',
    when: 'When',
    where: 'Where',
    repeats: 'Repeats',
    organizer: 'Organizer',
    attendees: 'Attendees',
    attendee: (person: string, answer: string) => `${person}: ${answer}`,
    more: (n: number) => `${n} more`,
    moreEvents: (n: number) =>
      n === 1
        ? 'The file has one more event. Save it to see it.'
        : `The file has ${n} more events. Save it to see them.`,
    cancelled: 'Cancelled',
    updated: 'Updated',
    answer: 'Your answer',
    verbs: { ACCEPTED: 'Accept', TENTATIVE: 'Maybe', DECLINED: 'Decline' },
    answers: { ACCEPTED: 'Accepted', TENTATIVE: 'Tentative', DECLINED: 'Declined' },
    answered: (who: string, answer: string) => `${who}: ${answer}`,
    subject: (answer: string, summary: string) => `${answer}: ${summary}`,
    mailText: (answer: string, summary: string) => `${answer}: ${summary}`,
    sent: (answer: string) => `${answer}. The organizer gets your answer.`,
    repetition: ({ unit, interval, until, count }: Repetition) => {
      const name = units[unit] ?? unit.toLowerCase();
      const every = interval === 1 ? `every ${name}` : `every ${interval} ${name}s`;
      if (until !== null) return `${every}, until ${until}`;
      return count === null ? every : `${every}, ${count} times`;
    },
  },
} as const;

interface Repetition {
  readonly unit: string;
  readonly interval: number;
  readonly until: string | null;
  readonly count: number | null;
}

const units: Readonly<Record<string, string>> = { DAILY: 'day', WEEKLY: 'week', MONTHLY: 'month', YEARLY: 'year' };
