import { adminRole } from '../access/access-table.ts';
import { mainApplicationName } from '../applications/application.ts';
import { grantableActions } from '../protocol/actions.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { mailNarrowedFields } from './mail-rule-schemas.ts';
import type { Subject } from './subject.ts';

const nameList: JsonSchema = { type: 'array', items: { type: 'string' } };
const roleName: JsonSchema = {
  anyOf: [{ type: 'string' }, { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }],
};
const statusSchema: JsonSchema = { type: 'string', enum: ['active', 'suspended'] };
const credentialSchema: JsonSchema = {
  type: ['object', 'null'],
  properties: { type: { type: 'string', enum: ['session', 'apiKey'] }, id: { type: 'integer' } },
  required: ['type', 'id'],
  additionalProperties: false,
};
const grantableAction: JsonSchema = { type: 'string', enum: [...grantableActions, 'view', '*'] };

interface NarrowedField {
  readonly shown?: JsonSchema;
  /** Null: only the server writes it. */
  readonly given?: JsonSchema | null;
}

/** Fields that only the server writes. */
function notGiven(...names: readonly string[]): Record<string, NarrowedField> {
  return Object.fromEntries(names.map((name) => [name, { given: null }]));
}

/** Fields of system collections whose values are more specific than their type. */
const narrowedFields: Readonly<Record<string, Readonly<Record<string, NarrowedField>>>> = {
  ...mailNarrowedFields,
  users: {
    status: { shown: statusSchema, given: { ...statusSchema, default: 'active' } },
    roles: {
      given: {
        type: 'array',
        items: roleName,
        description: 'The names of all roles of the user; they replace the present ones.',
      },
    },
  },
  roles: {
    name: { given: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,59}$' } },
    ...notGiven('builtIn', 'permissions'),
  },
  webhooks: {
    events: { shown: nameList },
    filter: { shown: { type: ['object', 'null'] } },
    ...notGiven('failingSince', 'pausedAt', 'pausedFor', 'deliveries', 'roleOf'),
  },
  apiKeys: {
    ...notGiven('id', 'role', 'roleOf', 'expiresAt', 'createdAt', 'lastUsedAt'),
    inactiveReason: {
      shown: {
        type: ['string', 'null'],
        enum: ['makerSuspended', 'roleLost', null],
        description: 'Why the key is refused: the user who created it is suspended, or no longer has its role.',
      },
      given: null,
    },
  },
  audit: {
    actor: { shown: { type: ['string', 'null'], pattern: '^(?:main/)?(?:user|apiKey):\\d+$' } },
    credential: { shown: credentialSchema },
    outcome: { shown: { type: 'string', enum: ['done', 'refused'] } },
  },
  permissions: {
    role: { given: roleName },
    roleOf: { given: null },
    actions: {
      shown: nameList,
      given: {
        anyOf: [grantableAction, { type: 'array', items: grantableAction, minItems: 1 }],
        description: '"view" means list and get.',
      },
    },
    filter: {
      shown: { type: ['object', 'null'] },
      given: {
        type: ['object', 'null'],
        description: 'A filter that selects rows. Variables such as {{$user.id}} refer to the caller.',
      },
    },
    fields: { shown: { ...nameList, type: ['array', 'null'] }, given: { ...nameList, type: ['array', 'null'] } },
    exceptFields: { shown: { ...nameList, type: ['array', 'null'] }, given: { ...nameList, type: ['array', 'null'] } },
  },
};

/** The specific schema of a system field; undefined if its type is sufficient, null if requests cannot set it. */
export function findNarrowedSchema(
  { name, system }: Collection,
  field: Field,
  direction: 'shown' | 'given',
): JsonSchema | null | undefined {
  return system ? narrowedFields[name]?.[field.name]?.[direction] : undefined;
}

const nodeName: JsonSchema = { type: 'string', description: 'The node of the Citus cluster that contains its data.' };

/** Parts of records that no field stores: on a Citus cluster, administrators see the nodes of applications. */
export function describeAddedParts(
  { caller, application }: Pick<Subject, 'caller' | 'application'>,
  { name }: Collection,
): Readonly<Record<string, JsonSchema>> {
  if (name !== 'applications' || application !== mainApplicationName || caller.role !== adminRole) return {};
  const move: JsonSchema = {
    oneOf: [{ $ref: '#/components/schemas/NodeMove' }, { type: 'null' }],
    description: 'The latest move to another node.',
  };
  return { node: { ...nodeName, readOnly: true }, move: { ...move, readOnly: true } };
}
