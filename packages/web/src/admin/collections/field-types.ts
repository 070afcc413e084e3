/** The options of each field type, and the inputs that a form uses for them. */
import type { Field } from '@tablinum/client';

/** The kind of input of an option. */
export type OptionKind =
  | 'truth'
  | 'whole'
  | 'number'
  | 'text'
  | 'choices'
  | 'collection'
  | 'onDelete'
  | 'value'
  | 'object';
export type OptionName = Exclude<keyof Field, 'name' | 'type' | 'title' | 'description' | 'readOnly'>;

export const optionKinds: Readonly<Record<OptionName, OptionKind>> = {
  required: 'truth',
  unique: 'truth',
  index: 'truth',
  searchIndex: 'truth',
  allowNull: 'truth',
  defaultValue: 'value',
  maxLength: 'whole',
  pattern: 'text',
  min: 'number',
  max: 'number',
  precision: 'whole',
  scale: 'whole',
  enum: 'choices',
  multiple: 'truth',
  accept: 'choices',
  maxSize: 'whole',
  maxCount: 'whole',
  dateOnly: 'truth',
  autoNow: 'truth',
  autoNowAdd: 'truth',
  target: 'collection',
  foreignKey: 'text',
  otherKey: 'text',
  sourceKey: 'text',
  targetKey: 'text',
  through: 'text',
  scopeKey: 'text',
  onDelete: 'onDelete',
  primaryKey: 'truth',
  autoIncrement: 'truth',
  uiSchema: 'object',
};

const columnOptions: readonly OptionName[] = ['required', 'unique', 'index', 'allowNull', 'defaultValue'];
const textOptions: readonly OptionName[] = [...columnOptions, 'searchIndex'];
const unindexedOptions: readonly OptionName[] = ['required', 'allowNull', 'defaultValue'];
const numberOptions: readonly OptionName[] = ['min', 'max', 'precision'];

/** The options that are specific to each type, the most important ones first. */
const typeSpecificOptions: Readonly<Record<string, readonly OptionName[]>> = {
  string: ['maxLength', 'pattern', ...textOptions],
  text: ['maxLength', 'pattern', ...textOptions],
  email: ['maxLength', ...textOptions],
  url: ['maxLength', ...textOptions],
  phone: ['maxLength', ...textOptions],
  color: ['maxLength', ...textOptions],
  uid: columnOptions,
  password: ['required', 'allowNull'],
  integer: [...numberOptions, ...columnOptions],
  bigInt: [...numberOptions, ...columnOptions],
  float: [...numberOptions, 'scale', ...columnOptions],
  double: [...numberOptions, 'scale', ...columnOptions],
  decimal: ['precision', 'scale', 'min', 'max', ...columnOptions],
  sort: ['scopeKey'],
  boolean: ['required', 'index', 'allowNull', 'defaultValue'],
  select: ['enum', 'multiple', ...columnOptions],
  date: ['autoNow', 'autoNowAdd', ...columnOptions],
  time: ['autoNow', 'autoNowAdd', ...columnOptions],
  datetime: ['dateOnly', 'autoNow', 'autoNowAdd', ...columnOptions],
  file: ['multiple', 'accept', 'maxSize', 'maxCount', 'required', 'allowNull'],
  json: unindexedOptions,
  array: unindexedOptions,
  belongsTo: ['target', 'required', 'unique', 'onDelete', 'foreignKey', 'targetKey', 'index'],
  hasOne: ['target', 'onDelete', 'foreignKey', 'sourceKey'],
  hasMany: ['target', 'onDelete', 'foreignKey', 'sourceKey'],
  belongsToMany: ['target', 'through', 'foreignKey', 'otherKey', 'sourceKey', 'targetKey'],
};

/** The options of each type. Every type has display hints. */
export const optionsByType: Readonly<Record<string, readonly OptionName[]>> = Object.fromEntries(
  Object.entries(typeSpecificOptions).map(([type, options]) => [type, [...options, 'uiSchema']]),
);

/** Options of fields in a new collection only: one field can be the primary key. */
export const keyOptionsByType: Readonly<Record<string, readonly OptionName[]>> = {
  integer: ['primaryKey', 'autoIncrement'],
  bigInt: ['primaryKey', 'autoIncrement'],
  string: ['primaryKey'],
  uid: ['primaryKey'],
};

/** The field types by group, in the order of the type picker. */
export const typeGroups = {
  text: ['string', 'text', 'email', 'url', 'phone', 'color', 'password'],
  numbers: ['integer', 'decimal', 'double', 'float', 'bigInt'],
  choices: ['boolean', 'select'],
  moments: ['date', 'time', 'datetime'],
  relations: ['belongsTo', 'hasMany', 'hasOne', 'belongsToMany'],
  other: ['file', 'json', 'array', 'uid', 'sort'],
} as const;

export function isRelation(type: string): boolean {
  return (typeGroups.relations as readonly string[]).includes(type);
}
