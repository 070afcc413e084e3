import type { ApiKey } from '../access/dto.ts';

const expiresSoonMilliseconds = 7 * 24 * 3_600_000;

/** The state of an API key: whether it works, and for how long. */
export function getKeyState(
  { expiresAt, inactiveReason }: Pick<ApiKey, 'expiresAt' | 'inactiveReason'>,
  now = Date.now(),
): 'active' | 'soon' | 'over' | 'inactive' {
  const left = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - now;
  if (left <= 0) return 'over';
  if (inactiveReason !== null) return 'inactive';
  return left < expiresSoonMilliseconds ? 'soon' : 'active';
}
