/** What is asked of the audit journal beside list, get and query, which are the generated ones. */
import type { JsonSchema } from '../schema/field-type.ts';
import { reply } from './operation.ts';
import { schemaRef } from './record-schemas.ts';
import { momentOrNull, object, truth } from './schema-parts.ts';
import { granted, type WrittenOperation } from './written-operation.ts';

export const auditOperations: readonly WrittenOperation[] = [
  {
    action: 'audit:verify',
    method: 'get',
    summary: 'Whether the journal is as it was written',
    may: granted(['audit', 'list']),
    success: reply('What a look at every entry found.', schemaRef('JournalReport')),
  },
];

const report = {
  entries: { type: 'integer', minimum: 0 },
  from: { ...momentOrNull, description: 'When the oldest entry was written; null without any.' },
  to: { ...momentOrNull, description: 'When the newest entry was written; null without any.' },
  valid: truth,
  firstBroken: { type: ['integer', 'null'], description: 'The id of the first entry that is changed or missing.' },
};

/** Schemas for those who read the journal. */
export const journalSchemas: Readonly<Record<string, JsonSchema>> = {
  JournalReport: object(report, Object.keys(report)),
};
