import { hash } from 'node:crypto';
import { type AccessTable, publicRole } from './access-table.ts';

/** Tells apart what a role may do from what it might do at another time: a hash of its permissions and of the public's. */
export function computeAccessFingerprint(role: string, { roles }: AccessTable): string {
  const text = JSON.stringify([roles.get(role), roles.get(publicRole)], (_, each: unknown) =>
    each instanceof Set ? [...each] : each,
  );
  return hash('sha256', text, 'base64url');
}
