import { type Caller, formatActor } from '../identity/caller.ts';
import type { NewEvents } from './change-log.ts';

export interface EventDetails {
  /** Names of the changed fields. Default: none. */
  readonly changed?: readonly string[];
  /** Null or absent: the server itself. */
  readonly caller?: Caller | null;
  readonly requestId?: string | null;
  /**
   * Whether this is an administrative action, which also enters the audit journal under the caller. Default: false.
   * Changes by Model Context Protocol tools always enter it.
   */
  readonly isAudited?: boolean;
}

/**
 * Builds the event of a change to records of one resource, for {@link ChangeLog.append}.
 *
 *     recordEvent('apiKeys', 'updated', [7], { caller, requestId, changed: ['expiresAt'], isAudited: true })
 *     // {name: 'apiKeys.updated', resource: 'apiKeys', keys: ['7'], actor: 'user:1', changed: ['expiresAt'], …}
 */
export function recordEvent(
  resource: string,
  verb: string,
  keys: readonly unknown[],
  { changed = [], caller = null, requestId = null, isAudited = false }: EventDetails,
): NewEvents {
  const actor = caller && formatActor(caller);
  const by = isAudited || caller?.origin?.tool ? caller : null;
  return { name: `${resource}.${verb}`, resource, keys: keys.map(String), actor, requestId, changed, by };
}
