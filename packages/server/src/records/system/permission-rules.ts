import { adminRole } from '../../access/access-table.ts';
import { createBindEnvironment, type Transaction } from '../../database/database.ts';
import { findPermission, readPermissionsOn, type StoredPermission } from '../../database/permission-rows.ts';
import { grantableActions } from '../../protocol/actions.ts';
import { ApiError, invalidDefinition } from '../../protocol/api-error.ts';
import { normaliseFilter } from '../../protocol/filter-normaliser.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import { checkRowFilter } from '../../query/filter-plan.ts';
import { isKnownVariable, parseVariable, userFieldName } from '../../query/variables.ts';
import { jsonSizeProblem } from '../../schema/definition-details.ts';
import { systemResources } from '../../schema/names.ts';
import type { Collection } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../record-rules.ts';
import { parseRoleName } from './role-names.ts';

/**
 * Permissions are checked completely when they are saved, so that deciding with them later cannot fail. An update is checked
 * in its transaction, as the row that it results in: errors reveal nothing about a row that the caller may not change.
 */
export const permissionRules: RecordRules = {
  changesAccess: true,

  async prepare(body, key, context): Promise<PreparedBody> {
    if (!isObject(body)) return { body: body as Body };
    if (Array.isArray(key) || key === undefined)
      throw new ApiError(
        'PARAMETER_INVALID',
        'Permissions are updated one at a time: give a "filterByTk" with one key.',
      );
    const row: Record<string, unknown> = { ...body };
    if (key === null || 'role' in row) row['role'] = parseRoleName(row['role'], 'role', context);
    const actions = parseActions(row['actions'], key === null);
    if (actions) row['actions'] = actions;
    if (key === null) checkRow(row, row, context);
    const afterWrite = async (transaction: Transaction, id: unknown): Promise<void> => {
      const permission = await findPermission(context.database, transaction, id);
      if (key !== null) checkRow(permission, row, context);
      await checkUnique(permission, context, transaction);
    };
    return { body: row, afterWrite };
  },

  async guard({ keys, context }): Promise<void> {
    for (const key of keys) {
      for (const role of context.access.roles.values())
        if (role.permissions.some((row) => row.id === key)) checkRole(role.name, context);
    }
  },
};

type RowInput = Readonly<Partial<Record<keyof StoredPermission, unknown>>>;

/** @param given the members that the request writes. Others are not checked: a field in them may have been deleted since. */
function checkRow(row: RowInput, given: Body, context: RecordContext): void {
  checkRole(row.role, context);
  checkResource(row.resource, row.actions, context);
  const collection = context.registry.find(row.resource as string);
  const isChanged = (name: string): boolean => name in given || 'resource' in given;
  for (const name of ['fields', 'exceptFields'] as const)
    if (isChanged(name)) checkFieldList(row[name], name, collection);
  if (row.fields != null && row.exceptFields != null)
    throw invalidDefinition({ exceptFields: 'Give fields or exceptFields, not both.' });
  if (isChanged('filter')) checkFilter(row.filter, collection, context);
}

function checkRole(role: unknown, context: RecordContext): void {
  if (role === adminRole)
    throw new ApiError('SYSTEM_PROTECTED', 'The role admin may do everything. It has no permissions to change.');
  if (context.access.roles.get(role as string)?.allowConfigure && context.caller.role !== adminRole)
    throw new ApiError('SYSTEM_PROTECTED', 'Only an admin can change a role with "allowConfigure".');
}

function parseActions(input: unknown, required: boolean): string[] | null {
  if (input === undefined && !required) return null;
  const list: unknown[] = Array.isArray(input) ? input : [input];
  const known = new Set([...grantableActions, 'view', '*']);
  const bad = list.find((each) => typeof each !== 'string' || !known.has(each));
  if (list.length === 0 || bad !== undefined || input === undefined || input === null)
    throw invalidDefinition({ actions: `Give one or a list of ${[...known].join(', ')}.` });
  return [...new Set((list as string[]).flatMap((each) => (each === 'view' ? ['list', 'get'] : [each])))];
}

/** Custom events have a first word that is not a resource. It is known if some role may publish it. */
const customEventPattern = /^[A-Za-z][A-Za-z0-9]{0,59}$/;
const customEventActions = new Set(['publish', 'get', 'list']);

function isCustomEventName(resource: string, actions: unknown, { access }: RecordContext): boolean {
  const list = (actions ?? []) as readonly string[];
  if (!customEventPattern.test(resource) || !list.every((each) => customEventActions.has(each))) return false;
  const published = [...access.roles.values()].some((role) =>
    role.permissions.some((row) => row.resource === resource && row.actions.includes('publish')),
  );
  return published || list.includes('publish');
}

function checkResource(resource: unknown, actions: unknown, context: RecordContext): void {
  if (typeof resource !== 'string' || resource === '')
    throw invalidDefinition({ resource: 'Name a collection, a system resource, or *.' });
  const known = resource === '*' || context.registry.find(resource) || systemResources.has(resource);
  if (!known && !isCustomEventName(resource, actions, context))
    throw invalidDefinition({ resource: `The resource "${resource.slice(0, 60)}" does not exist.` });
}

function checkFieldList(input: unknown, name: string, collection: Collection | null): void {
  if (input === undefined || input === null) return;
  if (!Array.isArray(input) || input.some((each) => typeof each !== 'string'))
    throw invalidDefinition({ [name]: 'Give a list of field names.' });
  if (input.length > limits.permissionFields)
    throw invalidDefinition({ [name]: `A permission lists at most ${limits.permissionFields} fields.` });
  if (!collection) throw invalidDefinition({ [name]: 'Fields can only be listed for one collection.' });
  const unknown = (input as string[]).find((each) => collection.byName.get(each)?.type.secret !== false);
  if (unknown !== undefined)
    throw invalidDefinition({ [name]: `${collection.name} has no field "${unknown.slice(0, 60)}".` });
}

/** Checks a row filter: its names must exist, its values must fit their fields, and text in braces must be a variable. */
function checkFilter(input: unknown, collection: Collection | null, context: RecordContext): void {
  if (input === undefined || input === null) return;
  if (!collection) throw invalidDefinition({ filter: 'A row filter can only be used for one collection.' });
  try {
    const { filter, values } = normaliseFilter(input);
    const problem = jsonSizeProblem(input);
    if (problem !== null) throw invalidDefinition({ filter: problem });
    const variables = new Map<number, string>();
    values.forEach((value, slot) => {
      if (Array.isArray(value)) for (const each of value) refuseBracesInList(each);
      else refuseUnknownBraces(value, context.registry.get('users'));
      const variable = parseVariable(value);
      if (variable !== null) variables.set(slot, variable);
    });
    if (filter) checkRowFilter({ filter, values, variables }, collection, context.registry, createBindEnvironment({}));
  } catch (error) {
    if (error instanceof ApiError && error.code !== 'DEFINITION_INVALID')
      throw invalidDefinition({ filter: error.message });
    throw error;
  }
}

/** Variables are not replaced within lists, where they would be compared as text. */
function refuseBracesInList(value: unknown): void {
  if (typeof value === 'string' && value.includes('{{'))
    throw invalidDefinition({
      filter: `"${value.slice(0, 60)}" is in a list. A variable must be the whole value of an operator.`,
    });
}

function refuseUnknownBraces(value: unknown, users: Collection): void {
  if (typeof value !== 'string' || !value.includes('{{')) return;
  const variable = parseVariable(value);
  if (variable === null || !isKnownVariable(variable))
    throw invalidDefinition({
      filter: `"${value.slice(0, 60)}" is not a variable; use {{$user.<field>}}, {{$role}}, {{$now}} or {{$date.<period>}}.`,
    });
  const name = userFieldName(variable);
  if (name !== null && !isOfUser(name, users))
    throw invalidDefinition({
      filter: `"${value.slice(0, 60)}" is not a valid variable: users have no field "${name}" that filters may use.`,
    });
}

/** Whether a filter may use this field of the caller's user: the names of its roles, and every column that is not a secret. */
function isOfUser(name: string, users: Collection): boolean {
  const field = users.byName.get(name);
  return name === 'roles' || (field !== undefined && field.column !== null && !field.type.secret && !field.hidden);
}

/** Refuses a second permission of a role for the same action on the same resource: only one can decide. */
async function checkUnique(
  { id, role, resource, actions }: StoredPermission,
  { database }: RecordContext,
  transaction: Transaction,
): Promise<void> {
  const others = await readPermissionsOn(database, transaction, role, resource);
  const clash = others.find((other) => other.id !== id && other.actions.some((action) => actions.includes(action)));
  if (clash) {
    const action = clash.actions.find((each) => actions.includes(each));
    throw new ApiError(
      'PERMISSION_EXISTS',
      `Permission ${clash.id} already decides ${action} on ${resource} for this role.`,
    );
  }
}
