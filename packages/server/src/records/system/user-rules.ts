import { adminRole, publicRole } from '../../access/access-table.ts';
import type { Transaction } from '../../database/database.ts';
import { deleteUserLogins } from '../../database/login-rows.ts';
import { deleteUserOneTimeTokens } from '../../database/one-time-tokens.ts';
import { readPasswordInTx } from '../../database/password-rows.ts';
import { countActiveHolders, readDefaultRoles, readUserRoles, setUserRoles } from '../../database/role-rows.ts';
import { findPasswordProblem } from '../../identity/password-rules.ts';
import { isEmail, normaliseEmail } from '../../identity/sign-in.ts';
import { ApiError, invalidDefinition, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext } from '../record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../record-rules.ts';
import { updateInactiveReasons } from './key-inactive-reason.ts';
import { parseRoleName, parseRoleNames } from './role-names.ts';

/**
 * Users: `roles` are written with the record, callers only grant roles that they may grant, and the last admin cannot be
 * removed. Setting a password or address gives access to the user, so it needs the right to grant the user's roles. Changes
 * of credentials end the logins and tokens of the old ones.
 */
export const userRules: RecordRules = {
  changesAccess: true,

  async prepare(body, key, context): Promise<PreparedBody> {
    if (!isObject(body)) return { body: body as Body };
    const { roles: givenRoles, ...rest } = body;
    const roles = givenRoles === undefined ? null : parseRoleNames(givenRoles ?? [], 'roles', context);
    if (roles) checkGrantedRoles(roles, key === null ? 'create' : 'update', context);
    if (rest['defaultRole'] != null) rest['defaultRole'] = parseRoleName(rest['defaultRole'], 'defaultRole', context);
    if (typeof rest['email'] === 'string') rest['email'] = parseEmail(rest['email']);
    const afterWrite = async (transaction: Transaction, userId: unknown): Promise<void> => {
      const id = userId as number;
      await writeRoles(context, transaction, id, roles ?? (key === null ? 'default' : null));
      if (rest['password'] != null) await checkPassword(context, transaction, id, rest['password']);
      if (key === null) return;
      await revokeLogins(context, transaction, id, rest);
      if (roles || rest['status'] !== undefined) await updateInactiveReasons(context, transaction, id);
      if (mayLockOutAdmin(rest, roles)) await requireAdmin(context, transaction);
    };
    return { body: rest, afterWrite };
  },

  readLinks: (transaction, key, { database }) => readUserRoles(database, transaction, [key]),

  async guard({ transaction, action, keys, body, context }): Promise<void> {
    const heldRoles = await readUserRoles(context.database, transaction, keys);
    const isAdmin = context.caller.role === adminRole;
    if (heldRoles.includes(adminRole) && !isAdmin)
      throw new ApiError('SYSTEM_PROTECTED', 'Only an admin can change a user with the role admin.');
    if (heldRoles.some((name) => mayConfigure(name, context)) && !mayConfigure(context.caller.role, context))
      throw new ApiError(
        'SYSTEM_PROTECTED',
        'Only a role with "allowConfigure" can change a user who has such a role.',
      );
    if (body && credentialFields.some((name) => name in body)) checkMayImpersonate(heldRoles, context);
    if (action === 'destroy' && heldRoles.includes(adminRole)) await requireAdmin(context, transaction, keys);
  },
};

/** Fields with which another person could sign in as the user: the password, and the address for reset links. */
const credentialFields = ['password', 'email'];

/** Whether a caller may grant a role. Admin: any. Callers who may configure: roles that may not. Others: roles that they hold. */
function mayGrant(role: string, context: RecordContext): boolean {
  const { caller } = context;
  if (caller.role === adminRole) return true;
  if (isStrong(role, context)) return false;
  return mayConfigure(caller.role, context) || caller.roles.includes(role);
}

/** @throws ApiError `ROLE_NOT_HELD` if signing in as a user with these roles would give the caller more permissions. */
function checkMayImpersonate(heldRoles: readonly string[], context: RecordContext): void {
  if (heldRoles.every((role) => context.caller.roles.includes(role) || mayGrant(role, context))) return;
  throw new ApiError(
    'ROLE_NOT_HELD',
    'A password or address can only be set if you have, or may grant, all roles of the user, because it gives access to the user.',
  );
}

function mayConfigure(role: string, { access }: RecordContext): boolean {
  return access.roles.get(role)?.allowConfigure ?? false;
}

/** Whether only an admin may grant a role. */
function isStrong(role: string, context: RecordContext): boolean {
  return role === adminRole || mayConfigure(role, context);
}

function checkGrantedRoles(roles: readonly string[], action: string, context: RecordContext): void {
  const field = context.registry.get('users').byName.get('roles')!;
  const grant = context.findGrant('users', action);
  if (grant && !grant.may(field)) throw new ApiError('FIELD_DENIED', 'The role may not write "roles" of users.');
  if (roles.includes(publicRole))
    throw invalidDefinition({ roles: '"public" is the role of callers without a credential. It cannot be granted.' });
  const strong = roles.find((name) => isStrong(name, context) && !mayGrant(name, context));
  if (strong !== undefined) throw new ApiError('SYSTEM_PROTECTED', `Only an admin can grant the role "${strong}".`);
}

/** Writes the roles of a user. Roles that the user already holds may stay, even if the caller may not grant them. */
async function writeRoles(
  context: RecordContext,
  transaction: Transaction,
  userId: number,
  wanted: readonly string[] | 'default' | null,
): Promise<void> {
  const { database } = context;
  if (wanted === null) return;
  const roles = wanted === 'default' ? await readDefaultRoles(database, transaction) : wanted;
  const notGrantable = wanted === 'default' ? [] : roles.filter((name) => !mayGrant(name, context));
  if (notGrantable.length > 0) {
    const heldRoles = await readUserRoles(database, transaction, [userId]);
    const notHeld = notGrantable.find((name) => !heldRoles.includes(name));
    if (notHeld !== undefined)
      throw new ApiError('ROLE_NOT_HELD', `You may only grant roles that you have, not "${notHeld}".`);
  }
  await setUserRoles(database, transaction, userId, roles);
}

/** Checks a password against the names of the user, after the record is written. */
async function checkPassword(
  { database }: RecordContext,
  transaction: Transaction,
  userId: number,
  password: unknown,
): Promise<void> {
  const problem = findPasswordProblem(password, (await readPasswordInTx(database, transaction, userId)) ?? {});
  if (problem) throw invalidValues({ password: problem });
}

async function revokeLogins(
  { database }: RecordContext,
  transaction: Transaction,
  userId: number,
  changed: Body,
): Promise<void> {
  const changesPassword = changed['password'] !== undefined;
  if (changesPassword || changed['status'] === 'suspended') await deleteUserLogins(database, transaction, userId);
  // Links that were mailed to the old address, or for the old password, become invalid.
  if (changesPassword || changed['email'] !== undefined || changed['status'] !== undefined)
    await deleteUserOneTimeTokens(database, transaction, userId);
}

/** Whether a change may prevent an admin from signing in. */
function mayLockOutAdmin(changed: Body, roles: readonly string[] | null): boolean {
  if (roles && !roles.includes(adminRole)) return true;
  return ['status', 'password', 'email', 'username'].some((name) => name in changed);
}

/** @throws ApiError 422 for a text that is not an e-mail address. */
function parseEmail(text: string): string {
  const email = normaliseEmail(text);
  if (!isEmail(email)) throw invalidValues({ email: 'Give an e-mail address.' });
  return email;
}

/** Checks that an active admin remains. @param deleting users who are about to be deleted. */
async function requireAdmin(
  { database }: RecordContext,
  transaction: Transaction,
  deleting: readonly unknown[] = [],
): Promise<void> {
  if ((await countActiveHolders(database, transaction, adminRole, deleting)) > 0) return;
  throw new ApiError(
    'SYSTEM_PROTECTED',
    'The last admin who can sign in cannot be removed or suspended, and cannot lose the role, the password or the name. Make another user admin first.',
  );
}
