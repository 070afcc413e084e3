import type { Grant, GrantLookup } from '../query/grant.ts';
import type { RecordContext } from './record-context.ts';

/**
 * Identifies the grants of a {@link RecordContext}. It is part of the key of every cached plan, because plans are compiled
 * with grants. Only {@link roleGrantsKey} and {@link withGrants} make one, so no name that a caller chose can equal it.
 */
export type GrantsKey = string & { readonly isGrantsKey: true };

/** A grant that replaces the grant of the caller's role. */
export interface GrantOverride {
  readonly resource: string;
  /** Every action of the resource if absent. */
  readonly action?: string;
  readonly grant: Grant | null;
}

/** The key of all grants of a role: `"editor"`, quoted so that no override can be part of the name. */
export function roleGrantsKey(role: string): GrantsKey {
  return JSON.stringify(role) as GrantsKey;
}

/** The same context with other grants for some resource and action; all other grants stay as they are. */
export function withGrants<T extends RecordContext>(context: T, { resource, action, grant }: GrantOverride): T {
  const findGrant: GrantLookup = (name, requestedAction) =>
    name === resource && (action === undefined || requestedAction === action)
      ? grant
      : context.findGrant(name, requestedAction);
  const override = JSON.stringify([resource, action ?? '*', grant?.identity ?? null]);
  return { ...context, findGrant, grants: `${context.grants}${override}` as GrantsKey };
}

/** The same context with one grant for everything, whatever the caller's role may do: for work of the server itself. */
export function withServerGrant<T extends RecordContext>(context: T, grant: Grant): T {
  return { ...context, findGrant: () => grant, grants: JSON.stringify([grant.identity]) as GrantsKey };
}

/** The same context with one grant and no others. */
export function withOnlyGrant<T extends RecordContext>(context: T, override: GrantOverride): T {
  return withGrants({ ...context, findGrant: () => null, grants: '[]' as GrantsKey }, override);
}

/** A grant on the same rows that allows every field. */
export function withAllFields(grant: Grant): Grant {
  return { identity: `${grant.identity}, all fields`, rows: grant.rows, may: () => true };
}
