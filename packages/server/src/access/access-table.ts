import type { ParsedFilter } from '../protocol/record-request.ts';

/** A permission as decisions use it. It was checked when it was saved. */
export interface Permission {
  readonly id: number;
  readonly role: string;
  readonly resource: string;
  readonly actions: readonly string[];
  readonly filter: { readonly filter: ParsedFilter | null; readonly values: readonly unknown[] } | null;
  readonly fields: ReadonlySet<string> | null;
  readonly exceptFields: ReadonlySet<string> | null;
}

export interface Role {
  readonly name: string;
  readonly allowConfigure: boolean;
  readonly builtIn: boolean;
  readonly permissions: readonly Permission[];
}

/** A snapshot of all roles with their permissions. */
export interface AccessTable {
  readonly roles: ReadonlyMap<string, Role>;
}

/** The role that may do everything. */
export const adminRole = 'admin';
/** The role of callers without a credential. */
export const publicRole = 'public';
