/** Texts of the pages of collections, fields, indexes and the diagram. */

export const collections = {
  title: 'Data',
  yours: 'Collections',
  system: 'System collections',
  create: 'New collection',
  createFromFile: 'New collection from a file',
  filter: 'Find a collection',
  fieldCount: 'Fields',
  relationCount: 'Relations',
  emptyTitle: 'No collections yet',
  emptyText: 'A collection is a table of records. Its API is available as soon as you define it.',
  noneMatch: 'No collections match.',
  definition: 'Definition',
  records: 'Records',
  diagram: 'Diagram',
};

export const definition = {
  newTitle: 'New collection',
  newText: 'Its endpoints, validation and documentation are created with it.',
  name: 'Name',
  nameHint: 'Letters, digits and _. It is part of the API URL and cannot be changed later.',
  title: 'Title',
  titleHint: 'The name that users see.',
  description: 'Description',
  options: 'Options',
  optionNames: {
    timestamps: 'Created and updated timestamps',
    authors: 'Created by and updated by',
    paranoid: 'Trash (soft delete)',
    logging: 'Record history',
  },
  optionsLost: 'Delete this data?',
  optionsLose: 'Switch off and delete',
  fields: 'Fields',
  addField: 'Add a field',
  noFields: 'It will only have an id. You can also add fields later.',
  editField: (name: string) => `Edit ${name}`,
  removeField: (name: string) => `Remove ${name}`,
  newField: 'New field',
  fieldOptions: 'Options',
  type: 'Type',
  serverManaged: 'managed by the server',
  primaryKey: 'primary key',
  created: (name: string) => `${name} was created.`,
  saved: 'Saved.',
  fieldRemoved: (name: string) => `The field ${name} was deleted.`,
  details: 'Details',
  save: 'Save details',
  openRecords: 'Records',
  danger: 'Delete this collection',
  dangerText: 'The collection and all of its records are deleted. Other collections lose their relations to it.',
  dangerButton: 'Delete the collection…',
  destroyTitle: (name: string) => `Delete ${name}?`,
  destroyFieldTitle: (name: string) => `Delete the field ${name}?`,
  impact: 'What will be deleted or changed',
  impactChanges: {
    'fields.destroyed': 'Field deleted:',
    'fields.updated': 'Field changed:',
    'collections.destroyed': 'Collection deleted:',
    'collections.updated': 'Collection changed:',
  } as Readonly<Record<string, string>>,
  impactRecords: (n: number, collection: string) =>
    n === 1 ? `1 record of ${collection}` : `${n.toLocaleString('en')} records of ${collection}`,
  impactAffected: 'Affected records:',
  destroyed: (name: string) => `${name} was deleted.`,
  readOnly: 'Your role does not allow changing definitions.',
  systemText: 'This is a system collection. You can add fields, but not change or delete the existing ones.',
};

export const types = {
  groups: {
    text: 'Text',
    numbers: 'Numbers',
    choices: 'Choices',
    moments: 'Dates and times',
    relations: 'Relations',
    other: 'Other',
  },
  names: {
    string: 'Text, one line',
    text: 'Text, long',
    email: 'E-mail address',
    url: 'Web address',
    phone: 'Phone number',
    color: 'Colour',
    password: 'Password',
    integer: 'Whole number',
    decimal: 'Decimal, exact',
    double: 'Number, double precision',
    float: 'Number, single precision',
    bigInt: 'Whole number, large',
    boolean: 'Yes or no',
    select: 'Choice from a list',
    date: 'Date',
    time: 'Time of day',
    datetime: 'Date and time',
    file: 'File',
    json: 'JSON',
    array: 'List',
    uid: 'Unique id (UUID)',
    sort: 'Manual order',
    belongsTo: 'Belongs to one',
    hasMany: 'Has many',
    hasOne: 'Has one',
    belongsToMany: 'Many to many',
  } as Readonly<Record<string, string>>,
  options: {
    required: 'Required',
    unique: 'Unique',
    index: 'Index (fast to filter and sort)',
    searchIndex: 'Search index (fast to search for text)',
    allowNull: 'May be empty (null)',
    defaultValue: 'Default value',
    maxLength: 'Maximum length, in characters',
    pattern: 'Pattern (regular expression)',
    min: 'Minimum',
    max: 'Maximum',
    precision: 'Total digits',
    scale: 'Decimal places',
    enum: 'Choices',
    multiple: 'Allow several choices',
    accept: 'Accepted media types',
    maxSize: 'Maximum size in bytes',
    maxCount: 'Maximum number of files',
    dateOnly: 'Date only',
    autoNow: 'Set on creation',
    autoNowAdd: 'Set on every update',
    target: 'Linked collection',
    foreignKey: 'Foreign key field',
    otherKey: 'Foreign key to the target',
    sourceKey: 'Key of this collection',
    targetKey: 'Key of the linked collection',
    through: 'Join collection',
    scopeKey: 'Separate order for each value of',
    onDelete: 'On delete',
    primaryKey: 'Primary key, instead of id',
    autoIncrement: 'Auto-increment',
    uiSchema: 'Display hints (JSON)',
  },
  hints: {
    enum: 'One for each line.',
    accept: 'One for each line, such as image/* or application/pdf. Without an entry, all files are accepted.',
    maxSize: 'Of one file. Without a value, the limit of the server applies.',
    maxCount: 'Only for a field with several files. The default is 100.',
    foreignKey: 'Created if it does not exist.',
    through: 'Created if it does not exist.',
    defaultValue: 'JSON or plain text.',
    uiSchema: 'For example {"title": "Price", "x-component": "Input"}. Stored for other programs.',
  } as Readonly<Record<string, string>>,
  multipleFiles: 'Allow several files',
  whenDeleted: (onDelete: string, child: string, parent: string) =>
    ({
      setNull: `Deleting a record of ${parent} clears the link`,
      cascade: `Deleting a record of ${parent} deletes its ${child}`,
      restrict: `A record of ${parent} with ${child} cannot be deleted`,
    })[onDelete] ?? onDelete,
};

export const relation = {
  target: 'Linked collection',
  which: 'Which link?',
  existing: (field: string) => `Use the link of ${field}`,
  existingText: 'Shows the records that are already linked.',
  another: 'Create another, separate link',
  anotherText: (target: string, here: string) =>
    `Starts empty: it does not link any record of ${target} with a record of ${here} yet.`,
  joinCollection: 'a new join collection',
  newKey: 'a new key',
  advanced: 'Advanced',
  sentence: {
    belongsTo: (here: string, target: string) =>
      `Each record of ${here} points to one record of ${target}, or to none.`,
    hasMany: (here: string, target: string) =>
      `Each record of ${target} points to one record of ${here}, or to none; a record of ${here} can have many.`,
    hasOne: (here: string, target: string) =>
      `Each record of ${target} points to one record of ${here}, or to none; a record of ${here} has at most one.`,
    belongsToMany: (here: string, target: string) =>
      `Each record of ${here} can be linked with many records of ${target}, and vice versa.`,
  },
  manyDeleted: 'Deleting a record removes its links. The linked records are kept.',
  multipleFiles: 'Allow several files',
  whenDeleted: (parent: string) => `When a record of ${parent} is deleted`,
  onDelete: {
    setNull: (_child: string) => 'Clear the link',
    cascade: (child: string) => `Delete its ${child} too`,
    restrict: (child: string) => `Do not allow it while it has ${child}`,
  },
  consequence: {
    setNull: (child: string, _parent: string) => `Its records of ${child} are kept; their link is cleared.`,
    cascade: (child: string, parent: string) =>
      `All records of ${child} that point to the deleted record of ${parent} are deleted with it.`,
    restrict: (child: string, parent: string) =>
      `A record of ${parent} can only be deleted when no record of ${child} points to it.`,
  },
  keyStays: (key: string, target: string) =>
    `The field ${key} of ${target} and its values are kept. Delete that field too if it is no longer needed.`,
};

/** The state of a search index, as the client reports it. */
interface SearchIndexState {
  readonly state: 'building' | 'ready' | 'unavailable';
  readonly done?: number;
  readonly total?: number;
  readonly problem?: string;
}

export const searchIndexes = {
  title: 'Search index',
  hint: 'Searches for three or more characters are fast if all searched fields are listed here. The index is built in the background.',
  fields: 'Text fields',
  describe: ({ state, done = 0, total, problem }: SearchIndexState): string => {
    if (state === 'ready') return 'ready';
    if (state === 'unavailable') return problem ?? 'not available';
    if (problem !== undefined) return problem;
    return total === undefined ? 'waiting to be built' : `being built, ${formatPercent(done, total)}`;
  },
};

export const indexes = {
  title: 'Indexes over several fields',
  hint: 'For fields that are filtered and sorted together. A unique index allows each combination of values once.',
  fields: 'Fields of the index',
  unique: 'Unique',
  add: 'Add an index',
  remove: 'Remove the index',
};

const formatNumber = (value: number): string => value.toLocaleString('en');

function formatPercent(done: number, total: number): string {
  return `${total === 0 ? 0 : Math.min(100, Math.floor((100 * done) / total))}%`;
}

interface MissingIndexEffect {
  readonly type: 'index' | 'search';
  readonly rowsVisited: number;
  readonly expectedRows: number | null;
  readonly onlyWith: readonly (readonly string[])[];
}

export const indexAdvice = {
  title: 'Index advice',
  hint: 'Requests that looked at many more records than they returned, and the indexes that would avoid it. Only their fields and operators are recorded, never values.',
  refresh: 'Refresh',
  empty: 'No advice: no recorded request misses an index, and no index is known to be unneeded.',
  since: 'Requests recorded since',
  server: (server: string) => `by the server ${server}`,
  missing: 'Missing index',
  unneeded: 'Unneeded index',
  why: 'Why',
  effect: 'Expected effect',
  cost: ({ calls, rowsVisited, rowsReturned }: { calls: number; rowsVisited: number; rowsReturned: number }) =>
    `${formatNumber(calls)} calls looked at about ${formatNumber(rowsVisited)} records each to return ${formatNumber(rowsReturned)}.`,
  request: (conditions: readonly string[], sort: readonly string[]) =>
    [
      conditions.length > 0 ? `Filter: ${conditions.join(', ')}` : 'No filter',
      ...(sort.length > 0 ? [`sort: ${sort.join(', ')}`] : []),
    ].join('; '),
  expected: ({ type, rowsVisited, expectedRows, onlyWith }: MissingIndexEffect) => {
    const instead = `instead of ${formatNumber(rowsVisited)}`;
    if (type === 'search')
      return `Only the records that contain parts of the searched text, ${instead}. Not for texts of one or two characters.`;
    if (expectedRows !== null) return `About ${formatNumber(expectedRows)} records ${instead}`;
    const further = onlyWith.map((fields) => ` Only together with an index on ${fields.join(', ')}.`).join('');
    return `Only the records that match these fields, ${instead}${further && `.${further}`}`;
  },
  search: 'search index',
  createSearchTitle: (fields: readonly string[]) => `Create search index on ${fields.join(', ')}`,
  createSearchText:
    'The index is built in the background, while records are read and written. After that, every create, and every update of these fields, also writes the index, and it takes space on the disk.',
  searchCreated: 'The search index is being built.',
  create: 'Create index',
  createTitle: (fields: readonly string[]) => `Create index on ${fields.join(', ')}`,
  createText:
    'All records are read once to build the index; writes to this collection wait until it is built, a few seconds for a million records. After that, every create, and every update of these fields, also writes the index, and it takes space on the disk.',
  created: 'The index was created.',
  covered: (fields: readonly string[]) => `The index on ${fields.join(', ')} serves the same requests.`,
  unused: 'No recorded request has used it.',
  remove: 'Remove index',
  removeTitle: (fields: readonly string[]) => `Remove index on ${fields.join(', ')}`,
  removeText:
    'No records are lost. Requests that other servers answered, or that come only rarely, may have used it; it can be created again.',
  removed: 'The index was removed.',
};

export const diagram = {
  title: 'Diagram',
  description: 'Collections and their relations. Drag to move, scroll to zoom.',
  emptyTitle: 'No collections yet',
  emptyText: 'Collections and their relations appear here once they are defined.',
  asList: 'Relations as a list',
  relation: (from: string, type: string, to: string) => `${from} ${type} ${to}`,
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  fit: 'Show all',
  from: 'From',
  field: 'Field',
  to: 'To',
};
