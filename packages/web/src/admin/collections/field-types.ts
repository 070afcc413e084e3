/** What each type of field can be told, as a form asks for it. */
import type { Field } from '@tablinum/client';

/** How an option is asked for. */
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

const column: readonly OptionName[] = ['required', 'unique', 'index', 'allowNull', 'defaultValue'];
const noIndex: readonly OptionName[] = ['required', 'allowNull', 'defaultValue'];
const number: readonly OptionName[] = ['min', 'max', 'precision'];

/** The options of each type that are its own, the telling ones first. */
const ownOptions: Readonly<Record<string, readonly OptionName[]>> = {
  string: ['maxLength', 'pattern', ...column],
  text: ['maxLength', 'pattern', ...column],
  email: ['maxLength', ...column],
  url: ['maxLength', ...column],
  phone: ['maxLength', ...column],
  color: ['maxLength', ...column],
  uid: column,
  password: ['required', 'allowNull'],
  integer: [...number, ...column],
  bigInt: [...number, ...column],
  float: [...number, 'scale', ...column],
  double: [...number, 'scale', ...column],
  decimal: ['precision', 'scale', 'min', 'max', ...column],
  sort: ['scopeKey'],
  boolean: ['required', 'index', 'allowNull', 'defaultValue'],
  select: ['enum', 'multiple', ...column],
  date: ['autoNow', 'autoNowAdd', ...column],
  time: ['autoNow', 'autoNowAdd', ...column],
  datetime: ['dateOnly', 'autoNow', 'autoNowAdd', ...column],
  json: noIndex,
  array: noIndex,
  belongsTo: ['target', 'required', 'unique', 'onDelete', 'foreignKey', 'targetKey', 'index'],
  hasOne: ['target', 'onDelete', 'foreignKey', 'sourceKey'],
  hasMany: ['target', 'onDelete', 'foreignKey', 'sourceKey'],
  belongsToMany: ['target', 'through', 'foreignKey', 'otherKey', 'sourceKey', 'targetKey'],
};

/** The options of each type; hints for displays are told by every one. */
export const optionsOf: Readonly<Record<string, readonly OptionName[]>> = Object.fromEntries(
  Object.entries(ownOptions).map(([type, options]) => [type, [...options, 'uiSchema']]),
);

/** What only the fields of a collection that is being made can be told: one of them may be its key. */
export const keyOptionsOf: Readonly<Record<string, readonly OptionName[]>> = {
  integer: ['primaryKey', 'autoIncrement'],
  bigInt: ['primaryKey', 'autoIncrement'],
  string: ['primaryKey'],
  uid: ['primaryKey'],
};

/** The types as they stand in the choice, by what they hold. */
export const typeGroups = {
  text: ['string', 'text', 'email', 'url', 'phone', 'color', 'password'],
  numbers: ['integer', 'decimal', 'double', 'float', 'bigInt'],
  choices: ['boolean', 'select'],
  moments: ['date', 'time', 'datetime'],
  relations: ['belongsTo', 'hasMany', 'hasOne', 'belongsToMany'],
  other: ['json', 'array', 'uid', 'sort'],
} as const;

export function isRelation(type: string): boolean {
  return (typeGroups.relations as readonly string[]).includes(type);
}
