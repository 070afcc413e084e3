import { loadUser } from '../database/identity-store.ts';
import { tokenMissing } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { denied } from '../query/read-access.ts';
import { explain } from '../records/system/explain.ts';
import { idOf } from './auth-actions.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { knownParameters } from './known-parameters.ts';

/** What is asked of permissions beside the generated actions. */
export const permissionActions: Readonly<Record<string, SystemAction>> = {
  'permissions:explain': { reads: true, run: runExplain },
};

/** `role`, `resource` and `action`; `filterByTk` for one record, `user` for whose sake `$user` stands in filters. */
async function runExplain(call: Call): Promise<Answer> {
  const { application, caller, requestId, zone } = call;
  if (caller.type === 'anonymous') throw tokenMissing();
  const context = application.recordContext(caller, requestId, zone);
  if (!context.access.roles.get(caller.role)?.allowConfigure) throw denied('permissions', 'explain');
  const { filterByTk, user, ...rest } = knownParameters(
    call,
    ['role', 'resource', 'action', 'filterByTk', 'user'],
    false,
  );
  const [role, resource, action] = ['role', 'resource', 'action'].map((name) => textOf(rest[name], name));
  const somebody = await inRoleOf(call, role!, user);
  const acting = application.recordContext(somebody, requestId, zone);
  const key = filterByTk === undefined ? null : textOf(filterByTk, 'filterByTk');
  const question = { role: role!, resource: resource!, action: action!, filterByTk: key };
  return { data: JSON.stringify(await explain(context, acting, question)) };
}

function textOf(value: unknown, name: string): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text === 'string' && text !== '') return text;
  throw new ApiError('PARAMETER_INVALID', `permissions:explain needs ${name}: one name.`);
}

/** Somebody who acts in the role; without a user, the variables of one have no value. */
async function inRoleOf({ application }: Call, role: string, user: unknown): Promise<Caller> {
  const { database, registry } = application;
  const found = user === undefined ? null : await loadUser(database, registry.get('users'), idOf(user, 'user'));
  if (user !== undefined && !found) throw new ApiError('PARAMETER_INVALID', 'user: there is no user of that id.');
  const nobody = { credentialId: null, credentialName: null, expiresAt: null };
  return { type: 'session', ...nobody, role, roles: [role], user: found };
}
