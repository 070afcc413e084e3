import type { ApiKey } from '../access/wire.ts';

const soonMilliseconds = 7 * 24 * 3_600_000;

/** Whether a key still opens something, and for how long. */
export function keyState({ expiresAt }: Pick<ApiKey, 'expiresAt'>, now = Date.now()): 'active' | 'soon' | 'over' {
  if (expiresAt === null) return 'active';
  const left = Date.parse(expiresAt) - now;
  if (left <= 0) return 'over';
  return left < soonMilliseconds ? 'soon' : 'active';
}
