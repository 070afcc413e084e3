/** Which cell of a role's matrix is open: a link shows a colleague the same. */
export interface RoleSearch {
  readonly resource?: string;
  readonly action?: string;
}

export function roleSearch(given: Record<string, unknown>): RoleSearch {
  const { resource, action } = given;
  return {
    ...(typeof resource === 'string' && resource !== '' && { resource }),
    ...(typeof action === 'string' && action !== '' && { action }),
  };
}
