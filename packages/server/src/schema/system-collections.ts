import type { FieldDefinition, IndexDefinition } from '../protocol/definition.ts';
import { limits } from '../protocol/limits.ts';
import type { SystemTraits } from './system-traits.ts';

/** A collection that is created with every application. Its name is also the name of its table. */
export interface SystemCollection extends SystemTraits {
  readonly name: string;
  readonly title: string;
  readonly internal?: boolean;
  /** Exists only in the application `main`. */
  readonly mainOnly?: boolean;
  readonly timestamps: boolean;
  /** Changes are kept as history. */
  readonly logging?: boolean;
  readonly indexes?: readonly IndexDefinition[];
  readonly fields: readonly SystemField[];
}

/** `hidden` fields are secrets that no reader may name. `notNull` fields are always written by the server itself. */
export type SystemField = FieldDefinition & { readonly hidden?: boolean; readonly notNull?: boolean };

const id: SystemField = { name: 'id', type: 'integer', primaryKey: true, autoIncrement: true };
/** The role of the record, by its name in `role`. */
const defineRoleReference = (onDelete: 'cascade' | 'restrict'): SystemField => ({
  name: 'roleOf',
  type: 'belongsTo',
  target: 'roles',
  foreignKey: 'role',
  targetKey: 'name',
  onDelete,
});
const defineKey = (name: string): SystemField => ({ name, type: 'string', primaryKey: true, maxLength: 60 });

/**
 * The system collections except those of mail (mail/collections), in the order in which they are created. `users`,
 * `roles`, `permissions`, `apiKeys`, `webhooks` and `applications` have the generated actions, with their own rules
 * (records/system); joins and logins have none.
 */
export const coreCollections: readonly SystemCollection[] = [
  {
    name: 'roles',
    title: 'Roles',
    timestamps: true,
    fields: [
      defineKey('name'),
      { name: 'title', type: 'string', maxLength: 255 },
      { name: 'description', type: 'text', maxLength: limits.descriptionLength },
      { name: 'allowConfigure', type: 'boolean', defaultValue: false, allowNull: false },
      { name: 'default', type: 'boolean', defaultValue: false, allowNull: false },
      { name: 'builtIn', type: 'boolean', defaultValue: false, allowNull: false },
    ],
  },
  {
    name: 'users',
    title: 'Users',
    timestamps: true,
    fields: [
      id,
      { name: 'email', type: 'string', unique: true, maxLength: 320 },
      { name: 'username', type: 'string', unique: true, maxLength: 100 },
      { name: 'nickname', type: 'string', maxLength: 255 },
      { name: 'password', type: 'password' },
      { name: 'status', type: 'string', defaultValue: 'active', required: true, pattern: '^(active|suspended)$' },
      { name: 'defaultRole', type: 'string', maxLength: 60 },
    ],
  },
  {
    name: 'usersRoles',
    title: 'Roles of users',
    internal: true,
    timestamps: false,
    fields: [
      id,
      { name: 'user', type: 'belongsTo', target: 'users', foreignKey: 'userId', onDelete: 'cascade' },
      defineRoleReference('restrict'),
    ],
  },
  {
    name: 'permissions',
    title: 'Permissions',
    timestamps: true,
    fields: [
      id,
      defineRoleReference('cascade'),
      { name: 'resource', type: 'string', required: true, maxLength: 60 },
      { name: 'actions', type: 'json', allowNull: false },
      { name: 'filter', type: 'json' },
      { name: 'fields', type: 'json' },
      { name: 'exceptFields', type: 'json' },
    ],
  },
  {
    name: 'apiKeys',
    title: 'API keys',
    timestamps: false,
    fields: [
      id,
      { name: 'name', type: 'string', maxLength: 255 },
      defineRoleReference('restrict'),
      { name: 'expiresAt', type: 'datetime' },
      { name: 'createdAt', type: 'datetime' },
      { name: 'lastUsedAt', type: 'datetime' },
      {
        name: 'creator',
        type: 'belongsTo',
        target: 'users',
        foreignKey: 'creatorId',
        onDelete: 'cascade',
        hidden: true,
      },
      { name: 'tokenHash', type: 'string', unique: true, hidden: true },
      { name: 'successorId', type: 'integer', hidden: true },
      { name: 'inactiveReason', type: 'string', maxLength: 60 },
      { name: 'bound', type: 'boolean', hidden: true },
    ],
  },
  {
    name: 'logins',
    title: 'Signed-in sessions',
    internal: true,
    timestamps: false,
    fields: [
      id,
      { name: 'user', type: 'belongsTo', target: 'users', foreignKey: 'userId', onDelete: 'cascade' },
      { name: 'tokenHash', type: 'string', unique: true },
      { name: 'createdAt', type: 'datetime' },
      { name: 'expiresAt', type: 'datetime', index: true },
      { name: 'lastUsedAt', type: 'datetime' },
    ],
  },
  {
    name: 'oneTimeTokens',
    title: 'Links that work once',
    internal: true,
    timestamps: false,
    fields: [
      id,
      { name: 'purpose', type: 'string', maxLength: 20 },
      { name: 'user', type: 'belongsTo', target: 'users', foreignKey: 'userId', onDelete: 'cascade' },
      { name: 'tokenHash', type: 'string', unique: true },
      { name: 'expiresAt', type: 'datetime', index: true },
    ],
  },
  {
    name: 'webhooks',
    title: 'Webhooks',
    timestamps: true,
    fields: [
      id,
      { name: 'url', type: 'string', required: true, maxLength: 2000 },
      { name: 'events', type: 'json', required: true, allowNull: false },
      { name: 'filter', type: 'json' },
      defineRoleReference('restrict'),
      { name: 'enabled', type: 'boolean', defaultValue: true, allowNull: false },
      { name: 'failingSince', type: 'datetime' },
      { name: 'pausedAt', type: 'datetime' },
      { name: 'pausedFor', type: 'string', maxLength: 200 },
      { name: 'secret', type: 'string', maxLength: 500, hidden: true },
      { name: 'startsAfter', type: 'text', hidden: true },
    ],
  },
  {
    name: 'webhookDeliveries',
    title: 'What was sent to webhooks',
    timestamps: false,
    fields: [
      { ...id, type: 'bigInt' },
      { name: 'webhook', type: 'belongsTo', target: 'webhooks', foreignKey: 'webhookId', onDelete: 'cascade' },
      { name: 'messageId', type: 'string', maxLength: 60 },
      { name: 'event', type: 'string', maxLength: 200 },
      { name: 'resource', type: 'string', maxLength: 200 },
      { name: 'tk', type: 'text' },
      { name: 'at', type: 'datetime' },
      { name: 'status', type: 'string', maxLength: 20 },
      { name: 'attempts', type: 'integer', defaultValue: 0 },
      { name: 'nextAt', type: 'datetime', index: true },
      { name: 'finishedAt', type: 'datetime', index: true },
      { name: 'lastStatus', type: 'integer' },
      { name: 'lastError', type: 'text' },
      { name: 'actor', type: 'string', maxLength: 60, hidden: true },
      { name: 'changed', type: 'json', hidden: true },
      { name: 'giveUpAt', type: 'datetime', hidden: true },
    ],
  },
  {
    name: 'files',
    title: 'Files',
    timestamps: false,
    // Only files that no record refers to. Other files are read through the records that refer to them.
    visibility: { filter: { createdById: '{{$user.id}}', attachedAt: null }, bindsAdministrators: true },
    hasUnauditedCascades: true,
    builtInPermissions: {
      developer: ['list', 'get', 'create', 'destroy'],
      editor: ['list', 'get', 'create', 'destroy'],
    },
    fields: [
      id,
      { name: 'name', type: 'string', maxLength: 255 },
      { name: 'contentType', type: 'string', maxLength: 255 },
      { name: 'detectedType', type: 'string', maxLength: 255 },
      { name: 'size', type: 'double' },
      { name: 'sha256', type: 'string', maxLength: 64, index: true },
      { name: 'width', type: 'integer' },
      { name: 'height', type: 'integer' },
      { name: 'createdById', type: 'integer', index: true },
      { name: 'createdAt', type: 'datetime' },
      // Also for keys that belong to no user.
      { name: 'uploader', type: 'string', maxLength: 60, hidden: true },
      // When a record last began or ceased to refer to it.
      { name: 'attachedAt', type: 'datetime', hidden: true },
    ],
  },
  {
    name: 'fileReferences',
    title: 'Records that refer to files',
    internal: true,
    timestamps: false,
    // Many records can refer to one file.
    indexes: [{ fields: ['fileId', 'collectionId', 'fieldId', 'key'] }],
    fields: [
      { ...id, type: 'bigInt' },
      { name: 'file', type: 'belongsTo', target: 'files', foreignKey: 'fileId', onDelete: 'cascade' },
      { name: 'collectionId', type: 'integer' },
      { name: 'fieldId', type: 'integer' },
      { name: 'key', type: 'text' },
      // The sweep checks again whether the record still refers to the file.
      { name: 'checkedAt', type: 'datetime', index: true },
    ],
  },
  {
    name: 'realtimePresence',
    title: 'Who has a record open',
    internal: true,
    timestamps: false,
    fields: [
      { ...id, type: 'bigInt' },
      { name: 'session', type: 'string', maxLength: 60, unique: true },
      { name: 'resource', type: 'string', maxLength: 60 },
      { name: 'tk', type: 'text' },
      { name: 'user', type: 'belongsTo', target: 'users', foreignKey: 'userId', onDelete: 'cascade' },
      { name: 'activity', type: 'string', maxLength: 20 },
      { name: 'seenAt', type: 'datetime', index: true },
    ],
  },
  {
    name: 'imports',
    title: 'Imports',
    timestamps: false,
    visibility: { filter: { createdById: '{{$user.id}}' }, bindsAdministrators: false },
    hasUnauditedCascades: true,
    importedOnly: true,
    builtInPermissions: { developer: ['list', 'get'], editor: ['list', 'get'] },
    fields: [
      id,
      { name: 'collection', type: 'string', maxLength: 60 },
      { name: 'filename', type: 'string', maxLength: 255 },
      { name: 'format', type: 'string', maxLength: 20 },
      { name: 'mode', type: 'string', maxLength: 20 },
      { name: 'status', type: 'string', maxLength: 20, index: true },
      // Null until it is known.
      { name: 'rows', type: 'integer' },
      { name: 'processed', type: 'integer' },
      { name: 'created', type: 'integer' },
      { name: 'updated', type: 'integer' },
      { name: 'refused', type: 'integer' },
      { name: 'error', type: 'text' },
      { name: 'startedAt', type: 'datetime' },
      { name: 'endedAt', type: 'datetime', index: true },
      { name: 'createdAt', type: 'datetime' },
      { name: 'createdById', type: 'integer', index: true },
      // Also for keys that belong to no user.
      { name: 'owner', type: 'string', maxLength: 60, hidden: true },
      { name: 'sha256', type: 'string', maxLength: 64, index: true, hidden: true },
      { name: 'options', type: 'json', hidden: true },
      { name: 'columns', type: 'json', hidden: true },
      { name: 'leasedBy', type: 'string', maxLength: 100, hidden: true },
      { name: 'leasedUntil', type: 'datetime', hidden: true },
    ],
  },
  {
    name: 'importRefusedRows',
    title: 'Rows that imports have refused',
    internal: true,
    timestamps: false,
    fields: [
      { ...id, type: 'bigInt' },
      { name: 'import', type: 'belongsTo', target: 'imports', foreignKey: 'importId', onDelete: 'cascade' },
      { name: 'line', type: 'integer' },
      { name: 'column', type: 'text' },
      { name: 'field', type: 'string', maxLength: 60 },
      { name: 'value', type: 'text' },
      { name: 'reason', type: 'text' },
      { name: 'cells', type: 'json' },
    ],
  },
  {
    name: 'applications',
    title: 'Applications',
    mainOnly: true,
    timestamps: true,
    fields: [
      defineKey('name'),
      { name: 'displayName', type: 'string', maxLength: 255 },
      { name: 'description', type: 'text', maxLength: limits.descriptionLength },
      { name: 'options', type: 'json', defaultValue: {}, allowNull: false },
      { name: 'status', type: 'string', maxLength: 20, defaultValue: 'starting', allowNull: false },
      { name: 'store', type: 'uid', unique: true, hidden: true },
      { name: 'born', type: 'boolean', defaultValue: false, hidden: true },
      { name: 'ownerId', type: 'integer', hidden: true },
      { name: 'wakeAt', type: 'datetime', index: true, hidden: true },
    ],
  },
  {
    name: 'applicationErrors',
    title: 'Why applications failed',
    mainOnly: true,
    timestamps: false,
    fields: [
      id,
      {
        name: 'applicationOf',
        type: 'belongsTo',
        target: 'applications',
        foreignKey: 'application',
        onDelete: 'cascade',
      },
      { name: 'at', type: 'datetime' },
      { name: 'stage', type: 'string', maxLength: 60 },
      { name: 'message', type: 'text' },
    ],
  },
  {
    name: 'keyHomes',
    title: 'In which application a key was made',
    internal: true,
    mainOnly: true,
    timestamps: false,
    fields: [
      { name: 'tokenHash', type: 'string', primaryKey: true, maxLength: 100 },
      { name: 'application', type: 'string', maxLength: 60, index: true },
    ],
  },
];

/** A relation that needs both collections to exist first. */
export interface SystemRelation {
  readonly collection: string;
  readonly field: SystemField;
}

export const coreRelations: readonly SystemRelation[] = [
  {
    collection: 'roles',
    field: { name: 'permissions', type: 'hasMany', target: 'permissions', foreignKey: 'role', sourceKey: 'name' },
  },
  {
    collection: 'applications',
    field: {
      name: 'errorLog',
      type: 'hasMany',
      target: 'applicationErrors',
      foreignKey: 'application',
      sourceKey: 'name',
    },
  },
  {
    collection: 'webhooks',
    field: {
      name: 'deliveries',
      type: 'hasMany',
      target: 'webhookDeliveries',
      foreignKey: 'webhookId',
      sourceKey: 'id',
    },
  },
  {
    collection: 'users',
    field: {
      name: 'roles',
      type: 'belongsToMany',
      target: 'roles',
      through: 'usersRoles',
      foreignKey: 'userId',
      otherKey: 'role',
      targetKey: 'name',
    },
  },
];
