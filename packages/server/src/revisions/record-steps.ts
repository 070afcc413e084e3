/** The steps of a plan that write records: roles, permissions and webhooks. They use the actions of these records. */

import { buildGrants } from '../access/grants.ts';
import { makeAccessTable } from '../access/load-access.ts';
import { isoTime } from '../base/clock.ts';
import { makeWebhookSecret } from '../base/webhook-secret.ts';
import { recordEvent } from '../changes/record-event.ts';
import type { DefinitionContext, DefinitionTransaction } from '../collections/definition-context.ts';
import { readVersionInTx } from '../database/catalogue.ts';
import { mailRoleColumns } from '../database/mail/role-columns.ts';
import { readPermissionsInTx, type StoredPermission } from '../database/permission-rows.ts';
import { type RoleColumn, readRoles, renameRole } from '../database/role-rows.ts';
import { deleteDeliveries } from '../database/webhook-rows.ts';
import { ApiError, invalidDefinition } from '../protocol/api-error.ts';
import { prefixDetails } from '../protocol/error-path.ts';
import { normaliseRequest, requestByKeys } from '../protocol/request-normaliser.ts';
import { createPlanCache } from '../records/plan-cache.ts';
import type { RecordContext } from '../records/record-context.ts';
import { getRules } from '../records/system/system-rules.ts';
import { createRecords, destroyRecords, updateRecords, type WriteResult } from '../records/write/write-records.ts';
import { listColumnFields, type Registry } from '../schema/registry.ts';
import { isEqual, type Members, normalisePermission, type PermissionEntry, type SchemaDocument } from './document.ts';
import type { SchemaStep } from './plan-schema.ts';

/** A definition context in the transaction of the plan. */
export interface StepContext extends DefinitionContext {
  readonly tx: DefinitionTransaction;
}

/** The generated secret of a webhook that the plan created. It is not stored in readable form. */
export interface CreatedSecret {
  readonly webhook: string;
  readonly secret: string;
}

/** The input of the steps that write records, besides the step itself, and the results of these steps. */
export interface RecordSteps {
  readonly wanted: SchemaDocument;
  /** The ids of webhooks in this store by their portable ids. */
  readonly webhooks: Map<string, number>;
  readonly secrets: CreatedSecret[];
  /** The present names of renamed roles by those before the plan. */
  readonly renamedRoles: Map<string, string>;
}

/** A context for records as the previous steps have left roles, permissions and definitions. The caller keeps its roles, whatever they are called. */
async function openRecords(context: StepContext, { renamedRoles }: RecordSteps): Promise<RecordContext> {
  const { database, tx } = context;
  const { transaction, registry } = tx;
  const [roles, permissions] = [
    await readRoles(database, transaction),
    await readPermissionsInTx(database, transaction),
  ];
  const access = makeAccessTable(roles, permissions);
  const base = context.recordContext(transaction);
  const rename = (role: string): string => renamedRoles.get(role) ?? role;
  const caller = { ...base.caller, role: rename(base.caller.role), roles: base.caller.roles.map(rename) };
  return {
    ...base,
    caller,
    registry,
    access,
    findGrant: buildGrants(caller.role, access, registry),
    cache: createPlanCache(),
    snapshotVersion: { version: await readVersionInTx(transaction) },
  };
}

async function create(records: RecordContext, resource: string, body: unknown): Promise<WriteResult> {
  const collection = records.registry.get(resource);
  const request = normaliseRequest('create', {}, false);
  return createRecords(records, collection, request, { body, rules: getRules(collection) });
}

async function update(records: RecordContext, resource: string, key: unknown, body: unknown): Promise<void> {
  const collection = records.registry.get(resource);
  await updateRecords(records, collection, requestByKeys('update', key), { body, rules: getRules(collection) });
}

async function destroy(records: RecordContext, resource: string, key: unknown): Promise<void> {
  const collection = records.registry.get(resource);
  await destroyRecords(records, collection, requestByKeys('destroy', key), { rules: getRules(collection) });
}

/** Runs a step about a role or a webhook. */
export async function runRecordStep(context: StepContext, step: SchemaStep, steps: RecordSteps): Promise<void> {
  if (step.action === 'adopt') return;
  if (step.kind === 'role')
    await runRoleStep(context, step, steps).catch(atPath(`roles.${step.of}`, `role "${step.of}"`));
  else await runWebhookStep(context, step, steps).catch(atPath(`webhooks.${step.of}`, `webhook "${step.of}"`));
}

async function runRoleStep(
  context: StepContext,
  { action, of, from = '', values }: SchemaStep,
  steps: RecordSteps,
): Promise<void> {
  const records = await openRecords(context, steps);
  if (action === 'rename') return renameRoleEverywhere(context, records, { from, to: of }, steps);
  if (action === 'create') await create(records, 'roles', { name: of, ...values });
  else if (action === 'change') await update(records, 'roles', of, values);
  else if (action === 'destroy') {
    for (const { id } of records.access.roles.get(of)?.permissions ?? [])
      await destroy(await openRecords(context, steps), 'permissions', id);
    await destroy(await openRecords(context, steps), 'roles', of);
  }
}

/**
 * Tables refer to a role by its name, so these columns are changed too. The rules are those of an update of the role.
 */
async function renameRoleEverywhere(
  context: StepContext,
  records: RecordContext,
  { from, to }: { readonly from: string; readonly to: string },
  { renamedRoles }: RecordSteps,
): Promise<void> {
  const { database, tx, caller, requestId, clock } = context;
  const { registry, transaction } = tx;
  if (!records.findGrant('roles', 'update')) throw new ApiError('NO_PERMISSION', 'The role may not change roles.');
  if (records.access.roles.get(from)?.builtIn)
    throw new ApiError('SYSTEM_PROTECTED', `"${from}" is a built-in role and cannot be renamed.`);
  const write = { transaction, action: 'update', keys: [from], body: { name: to }, context: records } as const;
  await getRules(registry.get('roles'))?.guard?.(write);
  if (records.access.roles.has(to)) throw invalidDefinition({ name: `The role "${to}" already exists.` });
  const own = [...listColumnFields(registry.get('roles')).map(({ column }) => column), '_v'];
  await renameRole(database, transaction, { from, to }, { own, referring: listRoleColumns(registry) });
  const [former = from] = [...renamedRoles].find(([, present]) => present === from) ?? [];
  renamedRoles.set(former, to);
  const event = recordEvent('roles', 'updated', [to], { caller, requestId, changed: ['name'], isAudited: true });
  await context.changes.append(transaction, event, isoTime(clock.now()));
}

/** All columns that hold names of roles: foreign keys, the default role of users, and the roles in which mail is handled. */
function listRoleColumns(registry: Registry): RoleColumn[] {
  const references = registry
    .all()
    .flatMap(({ table, fields }) =>
      fields.flatMap(({ column, references: target }) =>
        column !== null && target?.collection === 'roles' && target.field === 'name' ? [{ table, column }] : [],
      ),
    );
  return [...references, { table: 'users', column: 'defaultRole' }, ...mailRoleColumns];
}

async function runWebhookStep(
  context: StepContext,
  { action, of, values }: SchemaStep,
  steps: RecordSteps,
): Promise<void> {
  const records = await openRecords(context, steps);
  const id = steps.webhooks.get(of) ?? 0;
  if (action === 'create') {
    const secret = makeWebhookSecret();
    const { keys } = await create(records, 'webhooks', { ...values, secret });
    steps.webhooks.set(of, Number(keys[0]));
    steps.secrets.push({ webhook: String((values as Members)['url']), secret });
  } else if (action === 'change') await update(records, 'webhooks', id, values);
  else if (action === 'destroy') {
    // The tables are rebuilt without foreign keys, which would delete the deliveries.
    await deleteDeliveries(context.database, context.tx.transaction, id);
    await destroy(records, 'webhooks', id);
  }
}

/** Destroys the permissions that the wanted roles do not have, before the fields that they name are changed. */
export async function destroyPermissions(context: StepContext, steps: RecordSteps): Promise<void> {
  const { wanted } = steps;
  for (const role of wanted.roles) {
    const { transaction } = context.tx;
    const stored = await readPermissionsInTx(context.database, transaction);
    for (const permission of stored.filter((each) => each.role === role.name))
      if (!role.permissions.some((each) => isEqual(each, toEntry(permission))))
        await destroy(await openRecords(context, steps), 'permissions', permission.id);
  }
}

/** Creates the permissions that the wanted roles lack. */
export async function createPermissions(context: StepContext, steps: RecordSteps): Promise<void> {
  const { wanted } = steps;
  for (const role of wanted.roles) {
    const stored = (await readPermissionsInTx(context.database, context.tx.transaction))
      .filter((each) => each.role === role.name)
      .map(toEntry);
    for (const permission of role.permissions)
      if (!stored.some((each) => isEqual(each, permission)))
        await create(await openRecords(context, steps), 'permissions', { role: role.name, ...permission }).catch(
          atPath(
            `roles.${role.name}.permissions.${permission.resource}`,
            `the permission of "${role.name}" on "${permission.resource}"`,
          ),
        );
  }
}

function toEntry({ resource, actions, filter, fields, exceptFields }: StoredPermission): PermissionEntry {
  return normalisePermission({
    resource,
    actions,
    filter,
    ...(fields && { fields }),
    ...(exceptFields && { exceptFields }),
  });
}

/** Adds the path in the document to a refusal. */
export function atPath(path: string, subject: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ApiError) || error.code === 'BUSY') throw error;
    throw new ApiError(error.code, `${subject}: ${error.message}`, {
      details: { [path]: error.message, ...prefixDetails(path, error.details) },
    });
  };
}
