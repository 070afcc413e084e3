import { mainApplicationName } from '../applications/application.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { activitySchemas, isServerAdmin } from './activity-operations.ts';
import { nodeSchemas } from './application-operations.ts';
import { journalSchemas } from './audit-operations.ts';
import { accountSchemas, sessionSchemas } from './auth-schemas.ts';
import { backupEntrySchemas, isBackupAdministrator } from './backup-operations.ts';
import { eventSchemas } from './change-operations.ts';
import { definitionSchemas } from './definition-schemas.ts';
import { errorSchema } from './error-responses.ts';
import { importSchemas } from './import-operations.ts';
import { indexSchemas } from './index-operations.ts';
import { keySchemas, keyUseSchemas } from './key-operations.ts';
import { mailSchemaGrants, mailSchemas } from './mail-operations.ts';
import { querySchema } from './parameters.ts';
import { explanationSchemas } from './permission-operations.ts';
import { schemaSchemas } from './schema-operations.ts';
import * as schema from './schema-parts.ts';
import { mayChangeSettings, settingsSchemas } from './settings-operations.ts';
import type { Subject } from './subject.ts';
import { webhookSchemas } from './webhook-operations.ts';

type Schemas = Readonly<Record<string, JsonSchema>>;

/** Schemas of every document. */
export const commonSchemas: Readonly<Record<string, JsonSchema>> = {
  Error: errorSchema,
  ListMeta: schema.object(
    {
      count: { type: 'integer', description: 'The number of matching records; absent with count=none.' },
      countIsEstimate: { const: true },
      page: schema.integer,
      pageSize: schema.integer,
      totalPage: schema.integer,
      hasNext: schema.boolean,
      nextCursor: {
        ...schema.stringOrNull,
        description: 'The value for "after" on the next page; null on the last page.',
      },
      versions: { type: 'object', additionalProperties: schema.integer },
    },
    ['pageSize', 'hasNext', 'nextCursor'],
  ),
  HistoryEntry: schema.object(
    {
      id: schema.integer,
      at: schema.dateTime,
      action: { type: 'string', enum: ['created', 'updated', 'destroyed', 'restored'] },
      actor: schema.stringOrNull,
      requestId: schema.stringOrNull,
      changes: schema.array(schema.complete({ field: schema.string, before: {}, after: {} })),
    },
    ['id', 'at', 'action', 'actor', 'requestId', 'changes'],
  ),
  WriteMeta: schema.object({ dryRun: { const: true } }),
  Query: querySchema,
  ...eventSchemas,
  ...importSchemas,
  Health: schema.complete({ status: { const: 'ok' }, uptime: { type: 'integer', description: 'Seconds.' } }),
};

const applicationOptions = schema.object({ autoStart: schema.boolean, metadata: { type: 'object' } });

/** Schemas for roles that manage applications. */
export const applicationSchemas: Readonly<Record<string, JsonSchema>> = {
  NewApplication: {
    ...schema.object(
      {
        name: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,59}$' },
        displayName: { type: ['string', 'null'], maxLength: 255 },
        description: schema.stringOrNull,
        options: applicationOptions,
        node: {
          type: 'string',
          description: 'Only for administrators, and on a Citus cluster: the node for its data.',
        },
      },
      ['name'],
    ),
    examples: [{ name: 'shop', displayName: 'The shop', options: { autoStart: true } }],
  },
  ApplicationChange: schema.object({
    displayName: { type: ['string', 'null'], maxLength: 255 },
    description: schema.stringOrNull,
    options: applicationOptions,
  }),
};

/** The schemas of system actions that the role may use. */
export function systemSchemas(subject: Subject): Schemas {
  const { caller, application, findGrant, mayConfigure } = subject;
  const isAnyGranted = (resource: string, actions: readonly string[]): boolean =>
    actions.some((action) => findGrant(resource, action) !== null);
  const definitions = ['list', 'get', 'create', 'update', 'destroy'];
  return {
    ...commonSchemas,
    ...accountSchemas,
    ...(caller.type !== 'anonymous' && { ...sessionSchemas, ...keySchemas }),
    ...(isAnyGranted('apiKeys', ['list']) && keyUseSchemas),
    ...(mayConfigure && { ...explanationSchemas, ...schemaSchemas }),
    ...((isAnyGranted('collections', definitions) || isAnyGranted('fields', definitions)) && definitionSchemas),
    ...(isAnyGranted('collections', ['list']) && isAnyGranted('collections', ['update']) && indexSchemas),
    ...(isServerAdmin(subject) && activitySchemas),
    ...(application === mainApplicationName &&
      isAnyGranted('applications', ['create', 'update']) &&
      applicationSchemas),
    ...(isBackupAdministrator(subject) && { ...backupEntrySchemas, ...nodeSchemas }),
    ...(isAnyGranted('audit', ['list']) && journalSchemas),
    ...(mayChangeSettings(subject) && settingsSchemas),
    ...(isAnyGranted('webhooks', ['create', 'update']) && webhookSchemas),
    ...(isAnyGranted(...mailSchemaGrants) && mailSchemas),
  };
}
