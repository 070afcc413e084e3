import { useCheck } from './queries.ts';

/** What people call the roles of the one who is signed in; the name of a role without a title, or of any other. */
export function useOwnRoleTitle(): (name: string) => string {
  const { data: check } = useCheck();
  return (name) => check?.roleTitles[name] || name;
}
