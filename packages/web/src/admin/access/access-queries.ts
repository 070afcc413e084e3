/** What several access pages ask for. */
import type { UseQueryResult } from '@tanstack/react-query';
import { useAsked } from '../../data/queries.ts';
import type { Role } from './wire.ts';

/** Every role, by name. Who may not list them gets an error, and pages go on with the caller's own. */
export function useRoles(): UseQueryResult<readonly Role[], Error> {
  return useAsked(
    ['roles', 'list'],
    async (client, signal) =>
      (await client.records<Role>('roles').list({ pageSize: 1000, sort: ['name'] }, { signal })).data,
  );
}
