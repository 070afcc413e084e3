import type { Migration } from './migration.ts';

/** The start adds the collections and fields; conversations get their labels in the background. */
export const inboxWorkplace: Migration = {
  number: 2,
  title: 'labels, saved searches, templates and reminders of the inbox',
};
