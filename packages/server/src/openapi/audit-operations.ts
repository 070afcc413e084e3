/** What is asked of the audit journal beside list, get and query, which are the generated ones. */
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonReply } from './operation.ts';
import { hasGrants, type OperationDefinition } from './operation-definition.ts';
import { schemaRef } from './record-schemas.ts';
import { booleanSchema, dateTimeOrNullSchema, objectSchema } from './schema-parts.ts';

export const auditOperations: readonly OperationDefinition[] = [
  {
    action: 'audit:verify',
    method: 'get',
    summary: 'Whether the journal is as it was written',
    may: hasGrants(['audit', 'list']),
    success: jsonReply('What a look at every entry found.', schemaRef('JournalReport')),
  },
];

const reportProperties = {
  entries: { type: 'integer', minimum: 0 },
  from: { ...dateTimeOrNullSchema, description: 'When the oldest entry was written; null without any.' },
  to: { ...dateTimeOrNullSchema, description: 'When the newest entry was written; null without any.' },
  valid: booleanSchema,
  firstBroken: { type: ['integer', 'null'], description: 'The id of the first entry that is changed or missing.' },
};

/** Schemas for those who read the journal. */
export const journalSchemas: Readonly<Record<string, JsonSchema>> = {
  JournalReport: objectSchema(reportProperties, Object.keys(reportProperties)),
};
