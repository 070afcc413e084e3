import type { Migration } from './migration.ts';

export const recordedMigrations: Migration = { number: 1, title: 'the store records its migrations' };
