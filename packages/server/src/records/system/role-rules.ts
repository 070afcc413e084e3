import { adminRole, publicRole } from '../../access/access-table.ts';
import type { Transaction } from '../../database/database.ts';
import { countRoleHolders, hasPrivilegedDefaultRole } from '../../database/role-rows.ts';
import { ApiError, invalidDefinition } from '../../protocol/api-error.ts';
import { findDescriptionProblems } from '../../schema/definition-details.ts';
import type { Body, PreparedBody, RecordRules } from '../record-rules.ts';

/** Roles: built-in ones stay as they are, held ones stay, and only an admin gives or touches allowConfigure. */
export const roleRules: RecordRules = {
  changesAccess: true,

  async prepare(body, key, context): Promise<PreparedBody> {
    const given = (body ?? {}) as Record<string, unknown>;
    if ('builtIn' in given) throw new ApiError('SYSTEM_PROTECTED', '"builtIn" is set by the server.');
    if (key === null && !isRoleName(given['name'])) {
      throw invalidDefinition({
        name: 'A role name starts with a letter, goes on with letters, digits, _ and -, at most 60 characters.',
      });
    }
    const details = findDescriptionProblems(given, 'title');
    if (Object.keys(details).length > 0) throw invalidDefinition(details);
    if (given['allowConfigure'] === true && context.caller.role !== adminRole) {
      throw new ApiError('SYSTEM_PROTECTED', 'Only an admin grants allowConfigure.');
    }
    const afterWrite = async (transaction: Transaction): Promise<void> => {
      const strongRole = await hasPrivilegedDefaultRole(context.database, transaction, [adminRole, publicRole]);
      if (strongRole)
        throw invalidDefinition({ default: 'A role that may configure, admin and public are never given by default.' });
    };
    return { body: body as Body, afterWrite };
  },

  async guard(transaction, action, keys, body, context): Promise<void> {
    const roles = keys.map((name) => context.access.roles.get(name as string));
    const isAdmin = context.caller.role === adminRole;
    if (roles.some((role) => role?.allowConfigure) && !isAdmin) {
      throw new ApiError('SYSTEM_PROTECTED', 'Only an admin changes a role that may configure.');
    }
    const changesPrivileges = action === 'destroy' || body === null || 'allowConfigure' in body;
    if (changesPrivileges && roles.some((role) => role?.builtIn)) {
      throw new ApiError('SYSTEM_PROTECTED', 'A built-in role cannot be destroyed or change its power.');
    }
    if (action === 'destroy' && (await countRoleHolders(context.database, transaction, keys)) > 0) {
      throw new ApiError('DEPENDANTS_EXIST', 'Users or API keys hold this role; take it from them first.');
    }
  },
};

function isRoleName(name: unknown): boolean {
  return typeof name === 'string' && /^[A-Za-z][A-Za-z0-9_-]{0,59}$/.test(name);
}
