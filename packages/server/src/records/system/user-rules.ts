import { adminRole, publicRole } from '../../access/access-table.ts';
import type { Transaction } from '../../database/database.ts';
import { countAdmins, defaultRoles, deleteLoginsOf, setUserRoles, userRolesOf } from '../../database/identity-store.ts';
import { ApiError, invalidDefinition, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext } from '../record-context.ts';
import type { Body, RecordRules, RuledBody } from '../record-rules.ts';
import { roleName, roleNames } from './role-names.ts';

/**
 * Users: `roles` are written beside the record, only admins grant admin, and the last admin stays.
 */
export const userRules: RecordRules = {
  access: true,

  async prepare(body, key, context): Promise<RuledBody> {
    if (!isObject(body)) return { body: body as Body };
    const { roles: named, ...rest } = body;
    const roles = named === undefined ? null : roleNames(named ?? [], 'roles', context);
    if (roles) checkGranted(roles, context);
    if (rest['defaultRole'] != null) rest['defaultRole'] = roleName(rest['defaultRole'], 'defaultRole', context);
    if (typeof rest['email'] === 'string') rest['email'] = emailOf(rest['email']);
    const beside = async (transaction: Transaction, userId: unknown): Promise<void> => {
      const { database } = context;
      const wanted = roles ?? (key === null ? await defaultRoles(database, transaction) : null);
      if (wanted) await setUserRoles(database, transaction, userId as number, wanted);
      if (rest['password'] !== undefined || rest['status'] === 'suspended')
        await deleteLoginsOf(database, transaction, userId as number);
      if (key !== null) await requireAdmin(context, transaction);
    };
    return { body: rest, beside };
  },

  async guard(transaction, action, keys, _body, context): Promise<void> {
    const held = await userRolesOf(context.database, transaction, keys);
    if (held.includes(adminRole) && context.caller.role !== adminRole) {
      throw new ApiError('SYSTEM_PROTECTED', 'Only an admin changes a user who is admin.');
    }
    if (action === 'destroy' && held.includes(adminRole)) await requireAnotherAdmin(context, transaction, keys.length);
  },
};

function checkGranted(roles: readonly string[], context: RecordContext): void {
  if (roles.includes(publicRole))
    throw invalidDefinition({ roles: 'public is the role of callers without a credential; nobody holds it.' });
  const strong = roles.find((name) => name === adminRole || context.access.roles.get(name)?.allowConfigure);
  if (strong && context.caller.role !== adminRole)
    throw new ApiError('SYSTEM_PROTECTED', `Only an admin grants the role "${strong}".`);
}

/** E-mail addresses are compared without case, so they are kept in lower case. */
function emailOf(text: string): string {
  const email = text.trim().toLowerCase();
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw invalidValues({ email: 'Give an e-mail address.' });
  return email;
}

async function requireAdmin(context: RecordContext, transaction: Transaction): Promise<void> {
  if ((await countAdmins(context.database, transaction, adminRole)) === 0) throw lastAdmin();
}

async function requireAnotherAdmin(context: RecordContext, transaction: Transaction, leaving: number): Promise<void> {
  if ((await countAdmins(context.database, transaction, adminRole)) <= leaving) throw lastAdmin();
}

function lastAdmin(): ApiError {
  return new ApiError(
    'SYSTEM_PROTECTED',
    'The last active admin cannot be removed, suspended or lose the role; make another admin first.',
  );
}
