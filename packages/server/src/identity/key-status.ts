import { adminRole } from '../access/access-table.ts';

/** Why a key is inactive although it is neither revoked nor expired. */
export type InactiveReason = 'makerSuspended' | 'roleLost';

/** The properties of a key that decide whether it depends on its creator. */
export interface KeyTerms {
  readonly role: string;
  /** Whether the key is only active while its creator holds its role. Null (keys of old stores) means true. */
  readonly bound: boolean | null;
}

/** The present state of the user who created a key. */
export interface KeyCreator {
  readonly status: string;
  readonly roles: readonly string[];
}

/**
 * Why a key is inactive; null if it is active. The key of a non-admin is only active while its creator could create it:
 * while the creator holds its role, or is an admin. All keys of a suspended user are inactive. A key becomes active again
 * with its role or user.
 */
export function findInactiveReason({ role, bound }: KeyTerms, creator: KeyCreator): InactiveReason | null {
  if (creator.status !== 'active') return 'makerSuspended';
  const canCreate = creator.roles.includes(role) || creator.roles.includes(adminRole);
  return canCreate || bound === false ? null : 'roleLost';
}
