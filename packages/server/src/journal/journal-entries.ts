/** Makes journal entries of administrative actions. */
import type { AdminAction } from '../changes/admin-actions.ts';
import type { AuditContent, ChainName } from '../database/audit-rows.ts';
import type { NewEntry } from './chain.ts';

/** An action on more targets becomes one entry with their number. */
const maxTargets = 100;

/** The entries of an administrative action: one for each target, or one with their number. */
export function toEntries({
  uid,
  credential,
  targets,
  resource: _,
  destroyed: __,
  ...adminAction
}: AdminAction): NewEntry[] {
  const common = { ...adminAction, credential: credential && JSON.stringify(credential) };
  const entry = (target: string | null, count: number): NewEntry => ({
    ...common,
    target,
    count,
    outcome: 'done',
    code: null,
    source: uid,
  });
  if (targets.length > maxTargets) return [entry(null, targets.length)];
  return targets.length === 0 ? [entry(null, 1)] : targets.map((target) => entry(target, 1));
}

/** The entry that records the removal of old entries. */
export function makePrunedEntry(chain: ChainName, count: number): Omit<AuditContent, 'at'> & { source: null } {
  const nobody = { actor: null, credential: null, role: null, code: null, address: null, requestId: null };
  return { ...nobody, action: 'audit:prune', target: chain, outcome: 'done', count, source: null };
}
