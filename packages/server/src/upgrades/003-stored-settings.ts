import type { Migration } from './migration.ts';

/** The start adds the table. */
export const storedSettings: Migration = {
  number: 3,
  title: 'settings that are stored',
};
