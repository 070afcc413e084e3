import { hash } from 'node:crypto';
import { type AccessTable, publicRole } from './access-table.ts';

/** A hash of the permissions of a role and of `public`. It changes when one of them changes. */
export function computeAccessFingerprint(role: string, { roles }: AccessTable): string {
  const text = JSON.stringify([roles.get(role), roles.get(publicRole)], (_, each: unknown) =>
    each instanceof Set ? [...each] : each,
  );
  return hash('sha256', text, 'base64url');
}
