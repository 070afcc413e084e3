import { ApiError } from '../../protocol/api-error.ts';
import type { Collection } from '../../schema/registry.ts';
import type { RecordRules } from '../record-rules.ts';
import { accountRules } from './account-rules.ts';
import { apiKeyRules } from './api-key-rules.ts';
import { applicationRules } from './application-rules.ts';
import { attachmentRules, conversationRules, emailRules } from './email-rules.ts';
import { mailboxRules } from './mailbox-rules.ts';
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

const rulesByCollection: Readonly<Record<string, RecordRules>> = {
  users: userRules,
  roles: roleRules,
  permissions: permissionRules,
  apiKeys: apiKeyRules,
  applications: applicationRules,
  applicationErrors: serverManagedRules,
  webhooks: webhookRules,
  webhookDeliveries: serverManagedRules,
  accounts: accountRules,
  mailboxes: mailboxRules,
  emails: emailRules,
  conversations: conversationRules,
  attachments: attachmentRules,
};

/** The rules of a system collection; null for collections without any. */
export function getRules({ name, system }: Collection): RecordRules | null {
  return system ? (rulesByCollection[name] ?? null) : null;
}
