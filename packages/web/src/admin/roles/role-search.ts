/** Which cell of a role's matrix is open: a link shows a colleague the same. */
export interface RoleSearch {
  readonly resource?: string;
  readonly action?: string;
}

export function parseRoleSearch(raw: Record<string, unknown>): RoleSearch {
  const { resource, action } = raw;
  return {
    ...(typeof resource === 'string' && resource !== '' && { resource }),
    ...(typeof action === 'string' && action !== '' && { action }),
  };
}
