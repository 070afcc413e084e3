/** Which rule decides for a role, as the server finds it: for the matrix, which shows all of it at once. */
import type { Permission, Role } from '../access/wire.ts';

export type DecidedBy = 'own' | 'all' | 'public' | 'configure' | 'nothing';

export interface Decided {
  readonly by: DecidedBy;
  readonly permission: Permission | null;
}

/** Whose rules are asked. */
export interface Ruled {
  readonly role: Pick<Role, 'allowConfigure'>;
  readonly own: readonly Permission[];
  /** Those of `public`; none where the role is public itself. */
  readonly open: readonly Permission[];
}

/** A collection, one of the server's own, all collections, or a word that is none. */
export interface Resource {
  readonly name: string;
  readonly kind: 'defined' | 'system' | 'all' | 'word';
}

export function decidedFor({ role, own, open }: Ruled, resource: Resource, action: string): Decided {
  if (role.allowConfigure && (resource.kind === 'system' || resource.kind === 'word'))
    return { by: 'configure', permission: null };
  const named = ruleOf(own, resource.name, action);
  if (named) return { by: 'own', permission: named };
  const wide = resource.kind === 'defined' ? ruleOf(own, '*', action) : null;
  if (wide) return { by: 'all', permission: wide };
  const free = ruleOf(open, resource.name, action) ?? (resource.kind === 'defined' ? ruleOf(open, '*', action) : null);
  return free ? { by: 'public', permission: free } : { by: 'nothing', permission: null };
}

/** Of the rules for one resource, one that names the action before one for every action. */
export function ruleOf(rules: readonly Permission[], resource: string, action: string): Permission | null {
  const there = rules.filter((each) => each.resource === resource);
  return (
    there.find((each) => each.actions.includes(action)) ?? there.find((each) => each.actions.includes('*')) ?? null
  );
}
