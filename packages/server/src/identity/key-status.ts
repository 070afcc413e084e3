import { adminRole } from '../access/access-table.ts';

/** Why a key does not work although it is neither revoked nor expired. */
export type InactiveReason = 'makerSuspended' | 'roleLost';

/** What of a key decides whether it depends on its maker. */
export interface KeyTerms {
  readonly role: string;
  /** Whether the key holds only while its maker holds its role; null for keys of stores that did not note it, which are bound. */
  readonly bound: boolean | null;
}

/** The maker of a key, as the user is now. */
export interface KeyCreator {
  readonly status: string;
  readonly roles: readonly string[];
}

/**
 * Whether a key works. One that was made by somebody who is no administrator holds only while its maker could make it:
 * holds its role, or has become admin. Every key of a suspended user is out of use. A key works again when the role, or
 * the user, comes back.
 */
export function findInactiveReason({ role, bound }: KeyTerms, creator: KeyCreator): InactiveReason | null {
  if (creator.status !== 'active') return 'makerSuspended';
  const canCreate = creator.roles.includes(role) || creator.roles.includes(adminRole);
  return canCreate || bound === false ? null : 'roleLost';
}
