/** Statements about permissions. */
import { parseExactJson } from '../protocol/exact-json.ts';
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner, requireRow, runInTransaction } from './run-statement.ts';
import { sql, value } from './sql.ts';

/** A stored permission. */
export interface StoredPermission {
  readonly id: number;
  readonly role: string;
  readonly resource: string;
  readonly actions: readonly string[];
  readonly filter: unknown;
  readonly fields: readonly string[] | null;
  readonly exceptFields: readonly string[] | null;
}

type PermissionRow = [
  id: number,
  role: string,
  resource: string,
  actions: string,
  filter: string | null,
  fields: string | null,
  exceptFields: string | null,
];

const permissionColumns = sql`id,role,resource,actions,filter,fields,"exceptFields"`;
const selectAll = sql`SELECT ${permissionColumns} FROM permissions ORDER BY id`;

/** Every permission of every role. */
export async function readPermissions(database: Database): Promise<StoredPermission[]> {
  return (await createReader(database)<PermissionRow>(selectAll)).map(toStoredPermission);
}

/** Every permission of every role, as the transaction sees them. */
export async function readPermissionsInTx(database: Database, transaction: Transaction): Promise<StoredPermission[]> {
  return (await runInTransaction<PermissionRow>(database, transaction, selectAll)).map(toStoredPermission);
}

/** A permission that the transaction has just written. */
export async function findPermission(
  database: Database,
  transaction: Transaction,
  id: unknown,
): Promise<StoredPermission> {
  const select = sql`SELECT ${permissionColumns} FROM permissions WHERE id=${value('integer', id)}`;
  const rows = await runInTransaction<PermissionRow>(database, transaction, select);
  return toStoredPermission(requireRow(rows));
}

/** All permissions of a role on a resource, as the transaction sees them. */
export async function readPermissionsOn(
  database: Database,
  transaction: Transaction,
  role: string,
  resource: string,
): Promise<StoredPermission[]> {
  const isOn = sql`role=${value('text', role)} AND resource=${value('text', resource)}`;
  const select = sql`SELECT ${permissionColumns} FROM permissions WHERE ${isOn}`;
  const rows = await runInTransaction<PermissionRow>(database, transaction, select);
  return rows.map(toStoredPermission);
}

/** Creates a permission without a filter and without lists of fields. */
export async function insertPermission(
  database: Database,
  transaction: Transaction,
  permission: { readonly role: string; readonly resource: string; readonly actions: readonly string[] },
  createdAt: string,
): Promise<void> {
  const { role, resource, actions } = permission;
  const time = value('datetime', createdAt);
  const values = sql`${value('text', role)},${value('text', resource)},${value('json', actions)},${time},${time}`;
  const run = createTxRunner(database, transaction);
  await run(sql`INSERT INTO permissions (role,resource,actions,"createdAt","updatedAt") VALUES (${values})`);
}

/** Replaces the parts of a permission that name fields, after a field was renamed or deleted. */
export async function updatePermissionNames(
  database: Database,
  transaction: Transaction,
  { id, filter, fields, exceptFields }: Pick<StoredPermission, 'id' | 'filter' | 'fields' | 'exceptFields'>,
): Promise<void> {
  const lists = sql`fields=${value('json', fields)},"exceptFields"=${value('json', exceptFields)}`;
  const run = createTxRunner(database, transaction);
  await run(sql`UPDATE permissions SET filter=${value('json', filter)},${lists} WHERE id=${value('integer', id)}`);
}

/** Moves the permissions of all roles from one resource to another, after a collection was renamed. */
export async function renameResource(
  database: Database,
  transaction: Transaction,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  const update = sql`UPDATE permissions SET resource=${value('text', to)} WHERE resource=${value('text', from)}`;
  await runInTransaction(database, transaction, update);
}

/** Deletes the permissions of all roles on a resource. */
export async function deletePermissionsOn(
  database: Database,
  transaction: Transaction,
  resource: string,
): Promise<void> {
  await runInTransaction(database, transaction, sql`DELETE FROM permissions WHERE resource=${value('text', resource)}`);
}

function toStoredPermission(row: PermissionRow): StoredPermission {
  const [id, role, resource, actions, filter, fields, exceptFields] = row;
  const json = (text: string | null): unknown => (text === null ? null : parseExactJson(text));
  return {
    id: Number(id),
    role,
    resource,
    actions: json(actions) as string[],
    filter: json(filter),
    fields: json(fields) as string[] | null,
    exceptFields: json(exceptFields) as string[] | null,
  };
}
