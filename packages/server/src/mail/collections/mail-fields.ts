/** Fields and traits that several collections of mail have. */
import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import type { FieldDefinition } from '../../protocol/definition.ts';
import type { Body, RecordRules } from '../../records/record-rules.ts';
import type { SystemField } from '../../schema/system-collections.ts';
import type { SystemTraits } from '../../schema/system-traits.ts';

/** The key of a collection that counts its records. */
export const keyField: SystemField = { name: 'id', type: 'integer', primaryKey: true, autoIncrement: true };

/** The account that a record belongs to; the record is deleted with it. */
export const accountField: SystemField = {
  name: 'account',
  type: 'belongsTo',
  target: 'accounts',
  foreignKey: 'accountId',
  onDelete: 'cascade',
};

/** A boolean field, false by default. */
export const defineFlag = (name: string): SystemField => ({
  name,
  type: 'boolean',
  defaultValue: false,
  allowNull: false,
});

/** A number that the server counts, 0 by default. */
export const defineCount = (name: string): SystemField => ({
  name,
  type: 'integer',
  defaultValue: 0,
  allowNull: false,
});

/** A `belongsTo` relation with the foreign key `<name>Id`. */
export const defineReference = (name: string, target: string, more: Partial<FieldDefinition> = {}): SystemField => ({
  name,
  type: 'belongsTo',
  target,
  foreignKey: `${name}Id`,
  ...more,
});

/** Fields of a collection of e-mails that wait until a background task has processed them. */
export const waitingEmailFields: readonly SystemField[] = [
  { ...keyField, type: 'bigInt' },
  accountField,
  { ...defineReference('email', 'emails', { onDelete: 'cascade' }), unique: true },
  // Counted before each attempt, so that a message at which the server fails is not processed again endlessly.
  defineCount('attempts'),
  { name: 'notBefore', type: 'datetime' },
];

/** A collection that no request can name, without times of its own. */
export const defineInternalCollection = (
  name: string,
  title: string,
  more: Omit<IndexedSystemCollection, 'name' | 'title' | 'internal' | 'timestamps'>,
): IndexedSystemCollection => ({ name, title, internal: true, timestamps: false, ...more });

/**
 * Rules with `prepare` and `guard` for everyday writes, which are not audited. Their module is only loaded when a
 * record is written.
 */
export const loadRulesLater = (load: () => Promise<RecordRules>): RecordRules => ({
  changesAccess: false,
  isUnaudited: true,
  prepare: async (body, key, context) => (await (await load()).prepare?.(body, key, context)) ?? { body: body as Body },
  guard: async (write) => (await (await load()).guard?.(write)) ?? (async (): Promise<void> => {}),
});

/** The permission variable that stands for the key of the user who reads. */
export const userIdVariable = '{{$user.id}}';

/** Records of accounts that the user is a member of. */
export const memberFilter = { seenBy: { userId: userIdVariable } };

const writeActions = ['list', 'get', 'create', 'update', 'destroy', 'export', 'history'];

/** Traits of every collection of mail that requests can name: the account decides who sees its mail, not the role. */
export const commonTraits = {
  visibility: { filter: memberFilter, bindsAdministrators: true },
  hasUnauditedCascades: true,
  builtInPermissions: { developer: writeActions, editor: writeActions, viewer: ['list', 'get'] },
} as const satisfies SystemTraits;
