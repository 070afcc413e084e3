/** Queries that several access pages share. */
import type { Client } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { getTitle } from '../../data/field-names.ts';
import { useApiQuery } from '../../data/queries.ts';
import { useOwnRoleTitle } from '../../data/role-title.ts';
import { useMay } from '../../data/schema.ts';
import type { Role } from './dto.ts';

const rolesKey = ['roles', 'list'];

async function readRoles(client: Client, signal: AbortSignal): Promise<readonly Role[]> {
  return (await client.records<Role>('roles').list({ pageSize: 1000, sort: ['name'] }, { signal })).data;
}

/** Every role, by name. */
export function useRoles(): UseQueryResult<readonly Role[], Error> {
  return useApiQuery(rolesKey, readRoles);
}

/** Every role, by name; undefined, and not requested, where the caller may not list roles. */
export function useVisibleRoles(): readonly Role[] | undefined {
  const may = useMay();
  return useApiQuery(rolesKey, readRoles, { enabled: may('roles', 'list') }).data;
}

/** The title of a role. Its name if it has no title, or if the caller neither has the role nor may list it. */
export function useRoleTitle(): (name: string) => string {
  const roles = useVisibleRoles();
  const ownTitle = useOwnRoleTitle();
  return (name) => {
    const role = roles?.find((each) => each.name === name);
    return role ? getTitle(role) : ownTitle(name);
  };
}

/** Options of a role picker, by title. Roles with the same title also show their names. */
export function useRoleOptions(names: readonly string[]): { readonly value: string; readonly label: string }[] {
  const title = useRoleTitle();
  const titles = names.map(title);
  return names.map((value, index) => {
    const label = titles[index] ?? value;
    const ambiguous = titles.indexOf(label) !== titles.lastIndexOf(label);
    return { value, label: ambiguous ? `${label} (${value})` : label };
  });
}
