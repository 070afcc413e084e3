/** Texts of the reports about conversations. */
export const mailReports = {
  link: 'Reports',
  title: 'Reports',
  description: 'How many conversations arrived, how fast they were answered, and how fast they were closed.',
  from: 'From',
  to: 'To',
  by: 'Group by',
  groups: {
    day: 'Day',
    week: 'Week',
    month: 'Month',
    account: 'Account',
    member: 'Assigned member',
    label: 'Label',
  } as const,
  noLabel: 'Without a label',
  labelHint: 'A conversation with several labels counts for each of them.',
  nobody: 'Not assigned',
  user: (id: number) => `User ${id}`,
  account: (id: number) => `Account ${id}`,
  columns: {
    received: 'Received',
    answered: 'Answered',
    response: 'First response (average)',
    closed: 'Closed',
    resolution: 'Time to close (average)',
  } as const,
  figures: { received: 'Received', response: 'First response', resolution: 'Time to close' } as const,
  chart: 'Conversations received',
  total: 'Total',
  none: 'No conversations in this period',
  noneText: 'Choose another period. Conversations without a received message do not count.',
  invalid: 'Choose a first day that is not after the last one.',
  csv: 'Download as CSV',
  picture: 'Download the chart',
  count: (n: number) => n.toLocaleString('en'),
  duration: (seconds: number) => {
    const [minutes, hours, days] = [seconds / 60, seconds / 3600, seconds / 86_400];
    if (minutes < 1) return 'under a minute';
    if (hours < 1) return `${Math.round(minutes)} min`;
    if (days < 2) return `${hours.toFixed(1)} h`;
    return `${days.toFixed(1)} days`;
  },
  noValue: '–',
};
