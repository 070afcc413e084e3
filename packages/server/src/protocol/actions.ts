/** Record actions that only read. They accept GET and HEAD, and POST with the parameters in the body. */
export const readActions = ['list', 'get', 'query', 'history', 'export'] as const;

/** Record actions that write. They only accept POST. */
export const writeActions = [
  'create',
  'update',
  'destroy',
  'restore',
  'firstOrCreate',
  'updateOrCreate',
  'move',
  'revert',
  'import',
  'importPreview',
  'storeExport',
] as const;

export type ReadAction = (typeof readActions)[number];
export type WriteAction = (typeof writeActions)[number];
export type RecordAction = ReadAction | WriteAction;

/** The actions that a permission can name. On the wire, `view` stands for list and get. */
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

/** Whether an action only reads. */
export function isReadAction(action: string): action is ReadAction {
  return (readActions as readonly string[]).includes(action);
}

/** The grants that a record action needs on its collection. An import needs more of them, depending on its mode. */
export function listRequiredGrants(action: RecordAction): readonly string[] {
  if (action === 'restore') return ['destroy'];
  if (action === 'query') return ['list'];
  if (action === 'export' || action === 'storeExport') return ['list', 'export'];
  if (action === 'move') return ['update'];
  // Otherwise a revert could reveal history entries that the caller may not read.
  if (action === 'history') return ['history', 'get'];
  if (action === 'revert') return ['update', 'history', 'get'];
  if (action === 'firstOrCreate') return ['list', 'create'];
  if (action === 'importPreview') return ['import'];
  return action === 'updateOrCreate' ? ['list', 'create', 'update'] : [action];
}

/** Whether the body of a POST contains the parameters of the action: for reads, and for an export that is stored. */
export function hasParametersInBody(action: string): boolean {
  return isReadAction(action) || action === 'storeExport';
}

/** Whether a name is that of a record action. */
export function isRecordAction(action: string): action is RecordAction {
  return isReadAction(action) || (writeActions as readonly string[]).includes(action);
}
