/** The actions of the audit journal, in addition to list, get and query. */
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonReply } from './operation.ts';
import { hasGrants, type OperationDefinition } from './operation-definition.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

export const auditOperations: readonly OperationDefinition[] = [
  {
    action: 'audit:verify',
    method: 'get',
    summary: 'Verify the hash chain of the journal',
    may: hasGrants(['audit', 'list']),
    success: jsonReply('The result of checking every entry.', schemaRef('JournalReport')),
  },
];

const reportProperties = {
  entries: { type: 'integer', minimum: 0 },
  from: { ...schema.dateTimeOrNull, description: 'When the oldest entry was written; null without entries.' },
  to: { ...schema.dateTimeOrNull, description: 'When the newest entry was written; null without entries.' },
  valid: schema.boolean,
  firstBroken: { type: ['integer', 'null'], description: 'The id of the first entry that was changed or is missing.' },
};

/** Schemas for roles that may read the journal. */
export const journalSchemas: Readonly<Record<string, JsonSchema>> = {
  JournalReport: schema.object(reportProperties, Object.keys(reportProperties)),
};
