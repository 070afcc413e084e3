/** Explains why a role may do something or not, for administrators who look for the permission that decides. */
import type { Permission } from '../../access/access-table.ts';
import { type Decision, decide } from '../../access/grants.ts';
import { grantableActions } from '../../protocol/actions.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import { normaliseRequest, requestByKeys } from '../../protocol/request-normaliser.ts';
import { parseVariable } from '../../query/variables.ts';
import { systemResources } from '../../schema/names.ts';
import type { Collection } from '../../schema/registry.ts';
import { getRecord } from '../read/read-records.ts';
import type { RecordContext } from '../record-context.ts';
import { withGrants } from '../with-grants.ts';

/** Whether a role may run an action, in general or on one record. */
export interface AccessQuestion {
  readonly role: string;
  readonly resource: string;
  readonly action: string;
  readonly filterByTk: string | null;
}

export interface AccessExplanation {
  readonly allowed: boolean;
  /** The permission that decides, as a get shows it; null if there is none. */
  readonly permission: unknown;
  readonly reason: string;
}

/**
 * Explains the decision about a role, a resource and an action.
 *
 * @param context of the caller, under whose grants the record of `filterByTk` is read.
 * @param acting the context of a user with the role; its row filter decides about the record.
 * @throws ApiError 400 naming what does not exist; 404 or 403 for a record that the caller may not get.
 */
export async function explainAccess(
  context: RecordContext,
  acting: RecordContext,
  question: AccessQuestion,
): Promise<AccessExplanation> {
  const { access, registry } = context;
  const { role, resource, action, filterByTk } = question;
  const collection = registry.find(resource);
  checkQuestion(question, context, collection);
  const decision = decide(role, resource, action, { table: access, registry });
  const permission = decision.row && (await readPermission(context, decision.row));
  const reason = describeReason(decision, question);
  if (decision.by === 'nothing' || filterByTk === null)
    return { allowed: decision.by !== 'nothing', permission, reason: `${reason}${filterNote(decision)}` };
  if (!collection) throw new ApiError('PARAMETER_INVALID', `"${resource}" has no records; leave out "filterByTk".`);
  await getRecord(context, collection, requestByKeys('get', filterByTk));
  const isRecordAdmitted = await isAdmitted(acting, collection, action, filterByTk);
  const verdict = decision.row?.filter
    ? `its filter ${isRecordAdmitted ? 'matches' : 'does not match'} record ${filterByTk}${userNote(decision.row, acting)}`
    : 'it has no row filter';
  return { allowed: isRecordAdmitted, permission, reason: decision.row ? `${reason} And ${verdict}.` : reason };
}

function checkQuestion(
  { role, resource, action, filterByTk }: AccessQuestion,
  { access }: RecordContext,
  collection: Collection | null,
): void {
  if (!access.roles.has(role))
    throw new ApiError('PARAMETER_INVALID', `"role": the role "${role.slice(0, 60)}" does not exist.`);
  if (!collection && !systemResources.has(resource))
    throw new ApiError('PARAMETER_INVALID', `"resource": the resource "${resource.slice(0, 60)}" does not exist.`);
  if (!grantableActions.includes(action))
    throw new ApiError('PARAMETER_INVALID', `"action" must be one of ${grantableActions.join(', ')}.`);
  if (filterByTk !== null && action === 'create')
    throw new ApiError('PARAMETER_INVALID', '"filterByTk" cannot be used with create: the record does not exist yet.');
}

function describeReason({ by, row }: Decision, { role, resource, action }: AccessQuestion): string {
  if (by === 'admin') return 'admin may do everything.';
  if (by === 'configure') return `The role "${role}" may configure, and ${resource} belongs to the system.`;
  if (row === null) return `No permission of "${role}" or of "public" is for ${action} on ${resource}, or for *.`;
  const owner = by === 'role' ? `of "${role}"` : `of "public" (the role "${role}" has none of its own)`;
  const through = row.resource === '*' ? 'all collections that users defined' : resource;
  const what = row.actions.includes(action) ? action : 'every action';
  return `Permission ${row.id} ${owner} decides: it names ${what} on ${through}.`;
}

function filterNote({ row }: Decision): string {
  return row?.filter ? ' Its row filter narrows that to some records.' : '';
}

/** A filter with variables of the user matches nothing if the request names no user. */
function userNote({ filter }: Permission, { caller }: RecordContext): string {
  const usesUserVariable = (filter?.values ?? []).some((value) => parseVariable(value)?.startsWith('$user.'));
  return usesUserVariable && caller.user === null ? ' (it uses $user; name a user by user=<id>)' : '';
}

/** The permission as a get shows it if the caller may get it, else its key. */
async function readPermission(context: RecordContext, { id }: Permission): Promise<unknown> {
  if (!context.findGrant('permissions', 'get')) return { id };
  const { data } = await getRecord(context, context.registry.get('permissions'), requestByKeys('get', id));
  return parseExactJson(data);
}

/** Whether the row filter of an action admits a record: a get under the grant of that action finds it. */
async function isAdmitted(
  acting: RecordContext,
  collection: Collection,
  action: string,
  key: string,
): Promise<boolean> {
  const grant = acting.findGrant(collection.name, action);
  const actingContext = withGrants(acting, { resource: collection.name, action: 'get', grant });
  const parameters = { filterByTk: key, fields: [collection.primaryKey.name], withDeleted: collection.trash !== null };
  const request = normaliseRequest('get', parameters, false);
  try {
    await getRecord(actingContext, collection, request);
    return true;
  } catch (error) {
    if (error instanceof ApiError && (error.code === 'NO_PERMISSION' || error.code === 'RECORD_UNKNOWN')) return false;
    throw error;
  }
}
