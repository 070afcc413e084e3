/** The records of the access collections, as their lists return them. */
import type { Filter } from '@tablinum/client';

export type { ApiKey, ApiKeyUsage, CreatedApiKey, JournalReport, Webhook } from '@tablinum/client';

export type Role = {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly allowConfigure: boolean;
  readonly default: boolean;
  readonly builtIn: boolean;
};

export type Permission = {
  readonly id: number;
  readonly role: string;
  readonly resource: string;
  readonly actions: readonly string[];
  readonly filter: Filter | null;
  readonly fields: readonly string[] | null;
  readonly exceptFields: readonly string[] | null;
};

export type RoleWithPermissions = Role & { readonly permissions: readonly Permission[] };

export type User = {
  readonly id: number;
  readonly email: string | null;
  readonly username: string | null;
  readonly nickname: string | null;
  readonly status: 'active' | 'suspended';
  readonly defaultRole: string | null;
  readonly createdAt: string;
  readonly roles?: readonly Role[];
};

export type Delivery = {
  readonly id: number | string;
  readonly event: string;
  readonly tk: string | null;
  readonly at: string;
  readonly status: 'pending' | 'delivered' | 'skipped' | 'dead';
  readonly attempts: number;
  readonly nextAt: string | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
};

export type AuditEntry = {
  readonly id: number;
  readonly at: string;
  readonly actor: string | null;
  readonly credential: { readonly type: string; readonly id: number } | null;
  readonly role: string | null;
  readonly action: string;
  readonly target: string | null;
  readonly outcome: string;
  readonly code: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  readonly count: number;
  readonly hash: string;
};
