import { loadUser } from '../database/user-rows.ts';
import { tokenMissingError } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { permissionDenied } from '../query/read-access.ts';
import { explainAccess } from '../records/system/explain.ts';
import { parseRecordId } from './auth-actions.ts';
import { readKnownParameters } from './known-parameters.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';

/** The actions of permissions, in addition to the record actions. */
export const permissionActions: Readonly<Record<string, SystemAction>> = {
  'permissions:explain': { reads: true, run: runExplain },
};

/** Explains `role`, `resource` and `action`; with `filterByTk` for one record, with `user` for the value of `$user` in filters. */
async function runExplain(request: RequestContext): Promise<ActionResult> {
  const { application, caller, requestId, zone } = request;
  if (caller.type === 'anonymous') throw tokenMissingError();
  const context = application.recordContext(caller, requestId, zone);
  if (!context.access.roles.get(caller.role)?.allowConfigure) throw permissionDenied('permissions', 'explain');
  const { filterByTk, user, ...rest } = readKnownParameters(
    request,
    ['role', 'resource', 'action', 'filterByTk', 'user'],
    false,
  );
  const role = requireText(rest['role'], 'role');
  const resource = requireText(rest['resource'], 'resource');
  const action = requireText(rest['action'], 'action');
  const explainedCaller = await createCallerInRole(request, role, user);
  const explainedContext = application.recordContext(explainedCaller, requestId, zone);
  const key = filterByTk === undefined ? null : requireText(filterByTk, 'filterByTk');
  const question = { role, resource, action, filterByTk: key };
  return { data: JSON.stringify(await explainAccess(context, explainedContext, question)) };
}

function requireText(value: unknown, name: string): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text === 'string' && text !== '') return text;
  throw new ApiError('PARAMETER_INVALID', `The parameter "${name}" of permissions:explain must be one name.`);
}

/** A caller with the role. Without a user, the user's variables have no value. */
async function createCallerInRole({ application }: RequestContext, role: string, user: unknown): Promise<Caller> {
  const { database, registry } = application;
  const found =
    user === undefined ? null : await loadUser(database, registry.get('users'), parseRecordId(user, 'user'));
  if (user !== undefined && !found)
    throw new ApiError('PARAMETER_INVALID', 'The parameter "user" must be the id of a user; there is no such user.');
  const nobody = { credentialId: null, credentialName: null, expiresAt: null };
  return { type: 'session', ...nobody, role, roles: [role], user: found };
}
