import { loadUser } from '../database/user-rows.ts';
import { tokenMissingError } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { permissionDenied } from '../query/read-access.ts';
import { explainAccess } from '../records/system/explain.ts';
import { parseRecordId } from './auth-actions.ts';
import { readKnownParameters } from './known-parameters.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';

/** What is asked of permissions beside the generated actions. */
export const permissionActions: Readonly<Record<string, SystemAction>> = {
  'permissions:explain': { reads: true, run: runExplain },
};

/** `role`, `resource` and `action`; `filterByTk` for one record, `user` for whose sake `$user` stands in filters. */
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
  const [role, resource, action] = ['role', 'resource', 'action'].map((name) => requireText(rest[name], name));
  const explainedCaller = await createCallerInRole(request, role!, user);
  const explainedContext = application.recordContext(explainedCaller, requestId, zone);
  const key = filterByTk === undefined ? null : requireText(filterByTk, 'filterByTk');
  const question = { role: role!, resource: resource!, action: action!, filterByTk: key };
  return { data: JSON.stringify(await explainAccess(context, explainedContext, question)) };
}

function requireText(value: unknown, name: string): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text === 'string' && text !== '') return text;
  throw new ApiError('PARAMETER_INVALID', `permissions:explain needs ${name}: one name.`);
}

/** Somebody who acts in the role; without a user, the variables of one have no value. */
async function createCallerInRole({ application }: RequestContext, role: string, user: unknown): Promise<Caller> {
  const { database, registry } = application;
  const found =
    user === undefined ? null : await loadUser(database, registry.get('users'), parseRecordId(user, 'user'));
  if (user !== undefined && !found) throw new ApiError('PARAMETER_INVALID', 'user: there is no user of that id.');
  const nobody = { credentialId: null, credentialName: null, expiresAt: null };
  return { type: 'session', ...nobody, role, roles: [role], user: found };
}
