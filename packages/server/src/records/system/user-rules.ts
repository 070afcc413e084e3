import { adminRole, publicRole } from '../../access/access-table.ts';
import type { Transaction } from '../../database/database.ts';
import { countAble, defaultRoles, setUserRoles, userRolesOf } from '../../database/identity-store.ts';
import { deleteLoginsOf } from '../../database/login-rows.ts';
import { deleteOneTimeTokensOf } from '../../database/one-time-tokens.ts';
import { passwordIn } from '../../database/password-rows.ts';
import { passwordProblem } from '../../identity/password-rules.ts';
import { emailForm, isEmail } from '../../identity/sign-in.ts';
import { ApiError, invalidDefinition, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext } from '../record-context.ts';
import type { Body, RecordRules, RuledBody } from '../record-rules.ts';
import { roleName, roleNames } from './role-names.ts';

/**
 * Users: `roles` are written beside the record, nobody grants more than they may, and the last admin stays. Whatever
 * changes how a user signs in ends what was begun under the old way.
 */
export const userRules: RecordRules = {
  access: true,

  async prepare(body, key, context): Promise<RuledBody> {
    if (!isObject(body)) return { body: body as Body };
    const { roles: named, ...rest } = body;
    const roles = named === undefined ? null : roleNames(named ?? [], 'roles', context);
    if (roles) checkGranted(roles, key === null ? 'create' : 'update', context);
    if (rest['defaultRole'] != null) rest['defaultRole'] = roleName(rest['defaultRole'], 'defaultRole', context);
    if (typeof rest['email'] === 'string') rest['email'] = emailOf(rest['email']);
    const beside = async (transaction: Transaction, userId: unknown): Promise<void> => {
      const id = userId as number;
      await writeRoles(context, transaction, id, roles ?? (key === null ? 'default' : null));
      if (rest['password'] != null) await checkPassword(context, transaction, id, rest['password']);
      if (key === null) return;
      await endWhatWas(context, transaction, id, rest);
      if (mayLockOut(rest, roles)) await requireAdmin(context, transaction);
    };
    return { body: rest, beside };
  },

  async guard(transaction, action, keys, _body, context): Promise<void> {
    const held = await userRolesOf(context.database, transaction, keys);
    const isAdmin = context.caller.role === adminRole;
    if (held.includes(adminRole) && !isAdmin)
      throw new ApiError('SYSTEM_PROTECTED', 'Only an admin changes a user who is admin.');
    if (held.some((name) => configures(name, context)) && !configures(context.caller.role, context))
      throw new ApiError('SYSTEM_PROTECTED', 'Only a role that may configure changes a user who holds one.');
    if (action === 'destroy' && held.includes(adminRole)) await requireAdmin(context, transaction, keys);
  },
};

function configures(role: string, { access }: RecordContext): boolean {
  return access.roles.get(role)?.allowConfigure ?? false;
}

function checkGranted(roles: readonly string[], action: string, context: RecordContext): void {
  const field = context.registry.get('users').byName.get('roles')!;
  const grant = context.grantOf('users', action);
  if (grant && !grant.may(field)) throw new ApiError('FIELD_DENIED', 'The role may not write "roles" of users.');
  if (roles.includes(publicRole))
    throw invalidDefinition({ roles: 'public is the role of callers without a credential; nobody holds it.' });
  const strong = roles.find((name) => name === adminRole || configures(name, context));
  if (strong && context.caller.role !== adminRole)
    throw new ApiError('SYSTEM_PROTECTED', `Only an admin grants the role "${strong}".`);
}

/** A caller whose role may not configure gives away only roles that it holds. */
async function writeRoles(
  context: RecordContext,
  transaction: Transaction,
  userId: number,
  wanted: readonly string[] | 'default' | null,
): Promise<void> {
  const { database, caller } = context;
  if (wanted === null) return;
  const roles = wanted === 'default' ? await defaultRoles(database, transaction) : wanted;
  if (wanted !== 'default' && !configures(caller.role, context)) {
    const held = await userRolesOf(database, transaction, [userId]);
    const foreign = roles.find((name) => !held.includes(name) && !caller.roles.includes(name));
    if (foreign !== undefined)
      throw new ApiError('ROLE_NOT_HELD', `A role that may not configure grants only roles it holds: "${foreign}".`);
  }
  await setUserRoles(database, transaction, userId, roles);
}

/** The record is written, so the names are those that it has now. */
async function checkPassword(
  { database }: RecordContext,
  transaction: Transaction,
  userId: number,
  password: unknown,
): Promise<void> {
  const problem = passwordProblem(password, (await passwordIn(database, transaction, userId)) ?? {});
  if (problem) throw invalidValues({ password: problem });
}

async function endWhatWas(
  { database }: RecordContext,
  transaction: Transaction,
  userId: number,
  changed: Body,
): Promise<void> {
  const password = changed['password'] !== undefined;
  if (password || changed['status'] === 'suspended') await deleteLoginsOf(database, transaction, userId);
  // A link that was mailed to the former address, or for the former password, is void.
  if (password || changed['email'] !== undefined || changed['status'] !== undefined)
    await deleteOneTimeTokensOf(database, transaction, userId);
}

/** Whether a change may take from an admin the means to sign in. */
function mayLockOut(changed: Body, roles: readonly string[] | null): boolean {
  if (roles && !roles.includes(adminRole)) return true;
  return ['status', 'password', 'email', 'username'].some((name) => name in changed);
}

/** @throws ApiError 422 for what is none. */
function emailOf(text: string): string {
  const email = emailForm(text);
  if (!isEmail(email)) throw invalidValues({ email: 'Give an e-mail address.' });
  return email;
}

/** @param leaving users who are about to go. */
async function requireAdmin(
  { database }: RecordContext,
  transaction: Transaction,
  leaving: readonly unknown[] = [],
): Promise<void> {
  if ((await countAble(database, transaction, adminRole, leaving)) > 0) return;
  throw new ApiError(
    'SYSTEM_PROTECTED',
    'The last admin who can sign in cannot be removed, suspended, or lose the role, the password or the name; make another admin first.',
  );
}
