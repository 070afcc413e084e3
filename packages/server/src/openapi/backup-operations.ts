/** The `backups` actions, which only administrators of `main` have. */
import { adminRole } from '../access/access-table.ts';
import { mainApplicationName } from '../applications/application.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { type OperationDefinition, oneSchema } from './operation-definition.ts';
import type { Parameter } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';
import type { Subject } from './subject.ts';

/** Whether the role may manage backups. */
export const isBackupAdministrator = ({ application, caller }: Subject): boolean =>
  application === mainApplicationName && caller.role === adminRole;

const backupParameter: Parameter = {
  name: 'filterByTk',
  in: 'query',
  required: true,
  description: 'The id of the backup.',
  schema: { type: 'string' },
  example: 'b20261128-030000-1f2e3d4c',
};
const signatureParameter: Parameter = {
  name: 'signature',
  in: 'query',
  description: 'The signature of an address from backups:sign. It replaces the credential.',
  schema: { type: 'string' },
};
const listMeta = schema.complete({
  schedule: { ...schema.stringOrNull, description: 'The cron expression of BACKUP_SCHEDULE, in UTC.' },
  nextAt: { ...schema.dateTimeOrNull, description: 'When the schedule makes the next backup.' },
  keep: { type: 'integer', minimum: 1, description: 'The number of backups of the schedule that are kept.' },
  isEncrypted: { type: 'boolean', description: 'Whether new backups are encrypted.' },
  bucket: {
    ...schema.stringOrNull,
    description: 'The bucket for backups (BACKUP_S3_BUCKET); null: they are stored in BACKUP_DIR.',
  },
});
const countOrNull: JsonSchema = { type: ['integer', 'null'], minimum: 0 };
const count: JsonSchema = { type: 'integer', minimum: 0 };
const one = (description: string): JsonSchema => jsonReply(description, schemaRef('Backup'));
const running = one('The work has started. backups:get shows its progress.');

export const backupOperations: readonly OperationDefinition[] = [
  {
    action: 'backups:list',
    method: 'get',
    summary: 'List backups and restores, the newest first',
    may: isBackupAdministrator,
    success: jsonReply(
      'All known backups and restores, and the schedule.',
      schema.array(schemaRef('Backup')),
      listMeta,
    ),
  },
  {
    action: 'backups:get',
    method: 'get',
    summary: 'Get one backup or restore',
    may: isBackupAdministrator,
    parameters: [backupParameter],
    success: one('The backup.'),
  },
  {
    action: 'backups:create',
    summary: 'Start a backup',
    description:
      'Backs up all applications, or one other than main. Only one backup or restore runs at a time, on all servers.',
    may: isBackupAdministrator,
    body: jsonBody(
      schema.object({
        application: { type: 'string', description: 'The only application to save. Omit it to save all.' },
      }),
      false,
    ),
    success: running,
    also: { 202: running },
  },
  {
    action: 'backups:download',
    method: 'get',
    summary: 'Download a backup as a tar file',
    may: isBackupAdministrator,
    parameters: [backupParameter, signatureParameter],
    success: {
      description: 'A tar file with the folder of the backup.',
      content: { 'application/x-tar': { schema: { type: 'string', format: 'binary' } } },
    },
  },
  {
    action: 'backups:sign',
    summary: 'Get an address for a download without a header',
    may: isBackupAdministrator,
    parameters: [backupParameter],
    success: jsonReply(
      'The address, which is valid for five minutes and ends with the credential.',
      schema.complete({ url: schema.string, expiresAt: schema.dateTime }),
    ),
  },
  {
    action: 'backups:restore',
    summary: 'Start to restore one application',
    description:
      'The earlier data of the application is kept as another backup. The event log begins again, so clients with earlier cursors must reload. To restore main, the server closes all stores and opens them again. Meanwhile, requests get 503. The lists of applications and backups stay as they are.',
    may: isBackupAdministrator,
    parameters: [backupParameter],
    body: jsonBody(
      schema.object({
        application: { type: 'string', description: 'The application in the backup. Not needed if it has only one.' },
        as: { type: 'string', description: 'A new name: restores a copy, which sends nothing, next to the original.' },
        confirm: { type: 'string', description: 'The name of the application, if its data is replaced.' },
        identity: {
          type: 'string',
          description: 'The secret key of age, if the backup is encrypted. It is not stored.',
        },
      }),
      false,
    ),
    success: running,
    also: { 202: running },
  },
  {
    action: 'backups:destroy',
    summary: 'Destroy a backup, or the entry of a failed one',
    may: isBackupAdministrator,
    parameters: [backupParameter],
    success: jsonReply('1', oneSchema),
  },
];

/** Schemas for administrators of `main`. */
export const backupEntrySchemas: Readonly<Record<string, JsonSchema>> = {
  Backup: schema.complete({
    id: schema.string,
    kind: { enum: ['backup', 'restore'] },
    status: { enum: ['running', 'done', 'failed'] },
    reason: { enum: ['request', 'schedule', 'restore', null], description: 'null: made by the command line.' },
    application: { ...schema.stringOrNull, description: 'The only application; null: all.' },
    applications: schema.array(schema.string),
    startedAt: schema.dateTime,
    finishedAt: schema.dateTimeOrNull,
    progress: {
      oneOf: [schema.complete({ done: count, total: count, bytes: count, storedBytes: countOrNull }), { type: 'null' }],
      description:
        'While a backup runs: applications saved so far and in total, bytes written so far, and bytes stored in the bucket. storedBytes is null until the upload begins.',
    },
    bytes: countOrNull,
    files: countOrNull,
    tables: countOrNull,
    rows: countOrNull,
    serverVersion: schema.stringOrNull,
    isEncrypted: schema.boolean,
    bucket: {
      ...schema.stringOrNull,
      description:
        'The bucket that contains the bytes of files, if the backup was made without them (BACKUP_FILES=off).',
    },
    machine: { ...schema.stringOrNull, description: 'The host name of the server that made it.' },
    isAvailable: { type: 'boolean', description: 'Whether the server that replies has its files.' },
    problem: { ...schema.stringOrNull, description: 'Why it failed.' },
    backup: { ...schema.stringOrNull, description: 'For a restore: the backup that was restored.' },
    keptAs: { ...schema.stringOrNull, description: 'For a restore: the backup of the data that was replaced.' },
  }),
};
