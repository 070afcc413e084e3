import { adminRole, publicRole } from '../../access/access-table.ts';
import type { Transaction } from '../../database/database.ts';
import { countRoleHolders, hasPrivilegedDefaultRole } from '../../database/role-rows.ts';
import { ApiError, invalidDefinition } from '../../protocol/api-error.ts';
import { findDescriptionProblems } from '../../schema/definition-details.ts';
import type { Body, PreparedBody, RecordRules } from '../record-rules.ts';

/** Roles: built-in roles cannot change, roles that are held cannot be destroyed, and only an admin grants allowConfigure. */
export const roleRules: RecordRules = {
  changesAccess: true,

  async prepare(body, key, context): Promise<PreparedBody> {
    const given = (body ?? {}) as Record<string, unknown>;
    if ('builtIn' in given) throw new ApiError('SYSTEM_PROTECTED', '"builtIn" is set by the server.');
    if (key === null && !isRoleName(given['name']))
      throw invalidDefinition({
        name: 'A role name starts with a letter and continues with letters, digits, _ and -. It has at most 60 characters.',
      });
    const details = findDescriptionProblems(given, 'title');
    if (Object.keys(details).length > 0) throw invalidDefinition(details);
    if (given['allowConfigure'] === true && context.caller.role !== adminRole)
      throw new ApiError('SYSTEM_PROTECTED', 'Only an admin can grant "allowConfigure".');
    const afterWrite = async (transaction: Transaction): Promise<void> => {
      const strongRole = await hasPrivilegedDefaultRole(context.database, transaction, [adminRole, publicRole]);
      if (strongRole)
        throw invalidDefinition({
          default: 'The roles admin and public, and roles with "allowConfigure", cannot be default roles.',
        });
    };
    return { body: body as Body, afterWrite };
  },

  async guard({ transaction, action, keys, body, context }): Promise<void> {
    const roles = keys.map((name) => context.access.roles.get(name as string));
    const isAdmin = context.caller.role === adminRole;
    if (roles.some((role) => role?.allowConfigure) && !isAdmin)
      throw new ApiError('SYSTEM_PROTECTED', 'Only an admin can change a role with "allowConfigure".');
    const changesPrivileges = action === 'destroy' || body === null || 'allowConfigure' in body;
    if (changesPrivileges && roles.some((role) => role?.builtIn))
      throw new ApiError(
        'SYSTEM_PROTECTED',
        'A built-in role cannot be destroyed, and its "allowConfigure" cannot be changed.',
      );
    if (action === 'destroy' && (await countRoleHolders(context.database, transaction, keys)) > 0)
      throw new ApiError('DEPENDANTS_EXIST', 'Users or API keys have this role; remove it from them first.');
  },
};

function isRoleName(name: unknown): boolean {
  return typeof name === 'string' && /^[A-Za-z][A-Za-z0-9_-]{0,59}$/.test(name);
}
