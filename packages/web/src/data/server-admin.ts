import type { CallerInfo } from '@tablinum/client';

/**
 * Whether the current role administrates the whole server, as the server decides it: an administrator who tries out
 * another role sees what that role sees.
 */
export function isServerAdmin({ application, currentRole }: Pick<CallerInfo, 'application' | 'currentRole'>): boolean {
  return application === 'main' && currentRole === 'admin';
}
