/** The actions that a rule can grant, in the order of the matrix. */
export const recordActions = ['list', 'get', 'create', 'update', 'destroy', 'export', 'import', 'history'] as const;

export const grantableActions: readonly string[] = [...recordActions, 'publish'];

/** Actions that are often granted together. */
export const presets = {
  read: ['list', 'get'],
  work: ['list', 'get', 'create', 'update', 'destroy'],
  all: [...recordActions],
} as const;
