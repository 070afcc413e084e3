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
import { noteKeyStanding } from './key-standing.ts';
import { roleName, roleNames } from './role-names.ts';

/**
 * Users: `roles` are written beside the record, nobody grants more than they may, and the last admin stays. A new password
 * or address is a way in, so it takes what granting the user's roles would take. Whatever changes how a user signs in
 * ends what was begun under the old way.
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
      if (roles || rest['status'] !== undefined) await noteKeyStanding(context, transaction, id);
      if (mayLockOut(rest, roles)) await requireAdmin(context, transaction);
    };
    return { body: rest, beside };
  },

  async guard(transaction, action, keys, body, context): Promise<void> {
    const held = await userRolesOf(context.database, transaction, keys);
    const isAdmin = context.caller.role === adminRole;
    if (held.includes(adminRole) && !isAdmin)
      throw new ApiError('SYSTEM_PROTECTED', 'Only an admin changes a user who is admin.');
    if (held.some((name) => configures(name, context)) && !configures(context.caller.role, context))
      throw new ApiError('SYSTEM_PROTECTED', 'Only a role that may configure changes a user who holds one.');
    if (body && waysIn.some((name) => name in body)) checkMayActAs(held, context);
    if (action === 'destroy' && held.includes(adminRole)) await requireAdmin(context, transaction, keys);
  },
};

/** Fields by which somebody else could sign in as the user: the password, and where a link for a new one is mailed to. */
const waysIn = ['password', 'email'];

/** Whether a caller gives a role away: admin any, who may configure all that may not, others those that they hold. */
function mayGive(role: string, context: RecordContext): boolean {
  const { caller } = context;
  if (caller.role === adminRole) return true;
  if (isStrong(role, context)) return false;
  return configures(caller.role, context) || caller.roles.includes(role);
}

/** @throws ApiError `ROLE_NOT_HELD` where signing in as a user with these roles would give the caller more power. */
function checkMayActAs(held: readonly string[], context: RecordContext): void {
  if (held.every((role) => context.caller.roles.includes(role) || mayGive(role, context))) return;
  throw new ApiError(
    'ROLE_NOT_HELD',
    'A new password or address is a way in: it is set for users all of whose roles you hold or may grant.',
  );
}

function configures(role: string, { access }: RecordContext): boolean {
  return access.roles.get(role)?.allowConfigure ?? false;
}

/** Only an admin gives it. */
function isStrong(role: string, context: RecordContext): boolean {
  return role === adminRole || configures(role, context);
}

function checkGranted(roles: readonly string[], action: string, context: RecordContext): void {
  const field = context.registry.get('users').byName.get('roles')!;
  const grant = context.grantOf('users', action);
  if (grant && !grant.may(field)) throw new ApiError('FIELD_DENIED', 'The role may not write "roles" of users.');
  if (roles.includes(publicRole))
    throw invalidDefinition({ roles: 'public is the role of callers without a credential; nobody holds it.' });
  const strong = roles.find((name) => isStrong(name, context) && !mayGive(name, context));
  if (strong !== undefined) throw new ApiError('SYSTEM_PROTECTED', `Only an admin grants the role "${strong}".`);
}

/** What a user holds already may stay. */
async function writeRoles(
  context: RecordContext,
  transaction: Transaction,
  userId: number,
  wanted: readonly string[] | 'default' | null,
): Promise<void> {
  const { database } = context;
  if (wanted === null) return;
  const roles = wanted === 'default' ? await defaultRoles(database, transaction) : wanted;
  const notGiven = wanted === 'default' ? [] : roles.filter((name) => !mayGive(name, context));
  if (notGiven.length > 0) {
    const held = await userRolesOf(database, transaction, [userId]);
    const foreign = notGiven.find((name) => !held.includes(name));
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
