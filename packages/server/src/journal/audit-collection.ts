import { auditTable } from '../database/audit-tables.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { createFixedCollection } from '../schema/fixed-collection.ts';
import { type Collection, Registry } from '../schema/registry.ts';

const textField = (name: string, maxLength: number): FieldDefinition => ({ name, type: 'string', maxLength });

/** The fields that are visible to readers. The links of the chain are not. */
const fields: readonly FieldDefinition[] = [
  { name: 'id', type: 'integer', primaryKey: true, required: true },
  { name: 'at', type: 'datetime', required: true },
  textField('actor', 100),
  { name: 'credential', type: 'json' },
  textField('role', 60),
  textField('action', 200),
  textField('target', 255),
  { name: 'outcome', type: 'string', required: true },
  textField('code', 60),
  textField('address', 60),
  textField('requestId', 128),
  { name: 'count', type: 'integer', required: true },
  { name: 'hash', type: 'string', required: true },
];

/** The journal as a read-only collection without relations. */
export const auditCollection: Collection = createFixedCollection(
  { name: 'audit', title: 'Audit journal', table: auditTable },
  fields,
);

export const auditRegistry = new Registry(0, new Map([[auditCollection.name, auditCollection]]), new Map());
