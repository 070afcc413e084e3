import type { Collection } from '../../schema/registry.ts';
import type { RecordRules } from '../record-rules.ts';
import { apiKeyRules } from './api-key-rules.ts';
import { applicationRules } from './application-rules.ts';
import { permissionRules } from './permission-rules.ts';
import { roleRules } from './role-rules.ts';
import { userRules } from './user-rules.ts';

const rules: Readonly<Record<string, RecordRules>> = {
  users: userRules,
  roles: roleRules,
  permissions: permissionRules,
  apiKeys: apiKeyRules,
  applications: applicationRules,
};

/** What a system collection does beyond the generated actions. */
export function rulesOf({ name, system }: Collection): RecordRules | null {
  return system ? (rules[name] ?? null) : null;
}
