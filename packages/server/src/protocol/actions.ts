/** Record actions that only read: they answer GET and HEAD, and POST with the parameters in the body. */
export const readActions = ['list', 'get', 'query', 'history'] as const;

/** Record actions that change something: POST alone. */
export const writeActions = [
  'create',
  'update',
  'destroy',
  'restore',
  'firstOrCreate',
  'updateOrCreate',
  'move',
  'revert',
] as const;

export type ReadAction = (typeof readActions)[number];
export type WriteAction = (typeof writeActions)[number];
export type RecordAction = ReadAction | WriteAction;

/** What a permission row may name. `view` on the wire stands for list and get. */
export const grantableActions = [
  'list',
  'get',
  'create',
  'update',
  'destroy',
  'export',
  'import',
  'history',
  'publish',
];

export function isReadAction(action: string): action is ReadAction {
  return (readActions as readonly string[]).includes(action);
}

/** The grants that a record action needs on its collection. */
export function listRequiredGrants(action: RecordAction): readonly string[] {
  if (action === 'restore') return ['destroy'];
  if (action === 'query') return ['list'];
  if (action === 'move') return ['update'];
  // An entry is named by those who may see it: a revert must be no way to read what history would not show.
  if (action === 'history') return ['history', 'get'];
  if (action === 'revert') return ['update', 'history', 'get'];
  if (action === 'firstOrCreate') return ['list', 'create'];
  return action === 'updateOrCreate' ? ['list', 'create', 'update'] : [action];
}

export function isRecordAction(action: string): action is RecordAction {
  return isReadAction(action) || (writeActions as readonly string[]).includes(action);
}
