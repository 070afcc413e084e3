import type { Migration } from './migration.ts';

/** The start adds the fields. */
export const mergedContacts: Migration = { number: 7, title: 'addresses of merged contacts' };
