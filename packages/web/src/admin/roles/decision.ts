/** Which rule decides for a role, as the server finds it: for the matrix, which shows all of it at once. */
import type { Permission, Role } from '../access/dto.ts';

export type DecisionSource = 'own' | 'all' | 'public' | 'configure' | 'nothing';

export interface Decision {
  readonly source: DecisionSource;
  readonly permission: Permission | null;
}

/** Whose rules are asked. */
export interface RoleRules {
  readonly role: Pick<Role, 'allowConfigure'>;
  readonly ownRules: readonly Permission[];
  /** Those of `public`; none where the role is public itself. */
  readonly publicRules: readonly Permission[];
}

/** A collection, one of the server's own, all collections, or a word that is none. */
export interface Resource {
  readonly name: string;
  readonly kind: 'defined' | 'system' | 'all' | 'word';
}

export function findDecision({ role, ownRules, publicRules }: RoleRules, resource: Resource, action: string): Decision {
  if (role.allowConfigure && (resource.kind === 'system' || resource.kind === 'word'))
    return { source: 'configure', permission: null };
  const named = findRule(ownRules, resource.name, action);
  if (named) return { source: 'own', permission: named };
  const allRule = resource.kind === 'defined' ? findRule(ownRules, '*', action) : null;
  if (allRule) return { source: 'all', permission: allRule };
  const publicRule =
    findRule(publicRules, resource.name, action) ??
    (resource.kind === 'defined' ? findRule(publicRules, '*', action) : null);
  return publicRule ? { source: 'public', permission: publicRule } : { source: 'nothing', permission: null };
}

/** Of the rules for one resource, one that names the action before one for every action. */
export function findRule(rules: readonly Permission[], resource: string, action: string): Permission | null {
  const resourceRules = rules.filter((each) => each.resource === resource);
  return (
    resourceRules.find((each) => each.actions.includes(action)) ??
    resourceRules.find((each) => each.actions.includes('*')) ??
    null
  );
}
