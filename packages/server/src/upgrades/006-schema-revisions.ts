import type { Migration } from './migration.ts';

/** The start adds the tables. */
export const schemaRevisions: Migration = {
  number: 6,
  title: 'revisions of the schema, with copies of what they destroyed',
};
