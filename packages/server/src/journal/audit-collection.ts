import { auditTable } from '../database/audit-rows.ts';
import type { FieldDefinition } from '../protocol/definition.ts';
import { fixedCollection } from '../schema/fixed-collection.ts';
import { type Collection, Registry } from '../schema/registry.ts';

const text = (name: string, maxLength: number): FieldDefinition => ({ name, type: 'string', maxLength });

/** What readers of the journal see; how the entries hang together stays inside. */
const fields: readonly FieldDefinition[] = [
  { name: 'id', type: 'integer', primaryKey: true, required: true },
  { name: 'at', type: 'datetime', required: true },
  text('actor', 100),
  { name: 'credential', type: 'json' },
  text('role', 60),
  text('action', 200),
  text('target', 255),
  { name: 'outcome', type: 'string', required: true },
  text('code', 60),
  text('address', 60),
  text('requestId', 128),
  { name: 'count', type: 'integer', required: true },
  { name: 'hash', type: 'string', required: true },
];

/** The journal as a collection. Nothing writes it, and nothing refers to it. */
export const auditCollection: Collection = fixedCollection(
  { name: 'audit', title: 'Audit journal', table: auditTable },
  fields,
);

export const auditRegistry = new Registry(0, new Map([[auditCollection.name, auditCollection]]));
