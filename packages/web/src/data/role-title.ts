import { useCheck } from './queries.ts';

/** The titles of the current user's roles. Other roles, and roles without a title, are shown by name. */
export function useOwnRoleTitle(): (name: string) => string {
  const { data: check } = useCheck();
  return (name) => check?.roleTitles[name] || name;
}
