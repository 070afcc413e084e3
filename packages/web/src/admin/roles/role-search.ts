/** The open cell of a permission matrix. It is stored in the URL, so that it can be shared as a link. */
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
