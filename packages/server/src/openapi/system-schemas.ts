import { mainName } from '../applications/application.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { journalSchemas } from './audit-operations.ts';
import { accountSchemas, sessionSchemas } from './auth-schemas.ts';
import { eventSchemas } from './change-operations.ts';
import { definitionSchemas } from './definition-schemas.ts';
import { errorSchema } from './error-responses.ts';
import { keySchemas, keyUseSchemas } from './key-operations.ts';
import { mailSchemas } from './mail-operations.ts';
import { querySchema } from './parameters.ts';
import { explanationSchemas } from './permission-operations.ts';
import { listOf, moment, object, text, textOrNull, truth, whole } from './schema-parts.ts';
import type { Subject } from './subject.ts';
import { webhookSchemas } from './webhook-operations.ts';

type Schemas = Readonly<Record<string, JsonSchema>>;

/** Schemas of every document. */
export const commonSchemas: Readonly<Record<string, JsonSchema>> = {
  Error: errorSchema,
  ListMeta: object(
    {
      count: { type: 'integer', description: 'All that match; absent with count=none.' },
      countIsEstimate: { const: true },
      page: whole,
      pageSize: whole,
      totalPage: whole,
      hasNext: truth,
      nextCursor: { ...textOrNull, description: 'For after; null on the last page.' },
      versions: { type: 'object', additionalProperties: whole },
    },
    ['pageSize', 'hasNext', 'nextCursor'],
  ),
  HistoryEntry: object(
    {
      id: whole,
      at: moment,
      action: { type: 'string', enum: ['created', 'updated', 'destroyed', 'restored'] },
      actor: textOrNull,
      requestId: textOrNull,
      changes: listOf(object({ field: text, before: {}, after: {} }, ['field', 'before', 'after'])),
    },
    ['id', 'at', 'action', 'actor', 'requestId', 'changes'],
  ),
  WriteMeta: object({ dryRun: { const: true } }),
  Query: querySchema,
  ...eventSchemas,
  Health: object({ status: { const: 'ok' }, uptime: { type: 'integer', description: 'Seconds.' } }, [
    'status',
    'uptime',
  ]),
};

const applicationOptions = object({ autoStart: truth, metadata: { type: 'object' } });

/** Schemas for those who manage applications. */
export const applicationSchemas: Readonly<Record<string, JsonSchema>> = {
  NewApplication: {
    ...object(
      {
        name: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,59}$' },
        displayName: { type: ['string', 'null'], maxLength: 255 },
        description: textOrNull,
        options: applicationOptions,
      },
      ['name'],
    ),
    examples: [{ name: 'shop', displayName: 'The shop', options: { autoStart: true } }],
  },
  ApplicationChange: object({
    displayName: { type: ['string', 'null'], maxLength: 255 },
    description: textOrNull,
    options: applicationOptions,
  }),
};

/** The schemas that no collection's definition makes, as far as the role meets them. */
export function systemSchemas({ caller, application, grantOf, configures }: Subject): Schemas {
  const any = (resource: string, actions: readonly string[]): boolean =>
    actions.some((action) => grantOf(resource, action) !== null);
  const definitions = ['list', 'get', 'create', 'update', 'destroy'];
  return {
    ...commonSchemas,
    ...accountSchemas,
    ...(caller.type !== 'anonymous' && { ...sessionSchemas, ...keySchemas }),
    ...(any('apiKeys', ['list']) && keyUseSchemas),
    ...(configures && explanationSchemas),
    ...((any('collections', definitions) || any('fields', definitions)) && definitionSchemas),
    ...(application === mainName && any('applications', ['create', 'update']) && applicationSchemas),
    ...(any('audit', ['list']) && journalSchemas),
    ...(any('webhooks', ['create', 'update']) && webhookSchemas),
    ...(any('emails', ['list', 'get', 'create', 'update', 'destroy']) && mailSchemas),
  };
}
