import type { ParsedFilter } from '../protocol/record-request.ts';

/** A permission row as access decides with it: checked on save, so nothing here is untyped. */
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

/** Every role with its permissions, at one moment. */
export interface AccessTable {
  readonly roles: ReadonlyMap<string, Role>;
}

/** The role whose holders may do everything. */
export const adminRole = 'admin';
/** The role of callers without a credential. */
export const publicRole = 'public';
