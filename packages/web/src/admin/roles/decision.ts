/**
 * Finds the rule that decides for a role, with the same precedence as the server. The matrix shows all decisions at
 * once.
 */
import type { Permission, Role } from '../access/dto.ts';

export type DecisionSource = 'own' | 'all' | 'public' | 'configure' | 'nothing';

export interface Decision {
  readonly source: DecisionSource;
  readonly permission: Permission | null;
}

/** The role whose permissions are shown. */
export interface RoleRules {
  readonly role: Pick<Role, 'allowConfigure'>;
  readonly ownRules: readonly Permission[];
  /** The rules of the role `public`; empty if that is the role itself. */
  readonly publicRules: readonly Permission[];
}

/** A user-defined collection, a system collection, all collections, or a name that is not a collection. */
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

/** The rule for an action of a resource. A rule that names the action takes precedence over a rule for all actions. */
export function findRule(rules: readonly Permission[], resource: string, action: string): Permission | null {
  const resourceRules = rules.filter((each) => each.resource === resource);
  return (
    resourceRules.find((each) => each.actions.includes(action)) ??
    resourceRules.find((each) => each.actions.includes('*')) ??
    null
  );
}
