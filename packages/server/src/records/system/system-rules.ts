import { ApiError } from '../../protocol/api-error.ts';
import type { Collection } from '../../schema/registry.ts';
import type { RecordRules } from '../record-rules.ts';
import { apiKeyRules } from './api-key-rules.ts';
import { applicationRules } from './application-rules.ts';
import { fileRules } from './file-rules.ts';
import { permissionRules } from './permission-rules.ts';
import { roleRules } from './role-rules.ts';
import { userRules } from './user-rules.ts';
import { webhookRules } from './webhook-rules.ts';

/** The rules of records that only the server writes. */
const serverManagedRules: RecordRules = {
  changesAccess: false,
  prepare: () => Promise.reject(serverManagedError()),
  guard: (): Promise<void> => Promise.reject(serverManagedError()),
};

function serverManagedError(): ApiError {
  return new ApiError('SYSTEM_PROTECTED', 'Only the server writes these records.');
}

/** The rules of the system collections that schema/system-collections.ts defines, by their names. */
export const systemRules: Readonly<Record<string, RecordRules>> = {
  users: userRules,
  roles: roleRules,
  permissions: permissionRules,
  apiKeys: apiKeyRules,
  applications: applicationRules,
  applicationErrors: serverManagedRules,
  files: fileRules,
  imports: { ...serverManagedRules, isUnaudited: true },
  webhooks: webhookRules,
  webhookDeliveries: serverManagedRules,
};

/** What a system collection does beyond the generated actions; null for a collection without rules. */
export function getRules({ traits }: Collection): RecordRules | null {
  return traits.rules ?? null;
}
