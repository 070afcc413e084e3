import type { Migration } from './migration.ts';

/** The start adds the collections; contacts are filled from stored mail in the background. */
export const contactsMigration: Migration = { number: 5, title: 'contacts and their groups, and push messages' };
