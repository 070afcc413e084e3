/** The properties of relations: their own, and those common properties whose values do not need a column. */
import type { FieldDefinition } from '../protocol/definition.ts';
import type { Raw } from './definition-details.ts';
import { optionChecks } from './field-type.ts';
import { collectionNameProblem, fieldNameProblem } from './names.ts';

type Check = (value: unknown, definition: FieldDefinition) => string | null;

const { truth } = optionChecks;
const name: Check = (value) => (typeof value === 'string' && value !== '' ? null : 'Give a name.');
const onDelete: Check = (value) =>
  value === 'setNull' || value === 'cascade' || value === 'restrict'
    ? null
    : 'Give "setNull", "cascade" or "restrict".';

/** Accepts only the value that changes nothing; any other value is refused with the reason. */
function acceptOnly(neutral: unknown, reason: string): Check {
  return (value) => (value === neutral ? null : typeof value === typeof neutral ? reason : wrongType(neutral));
}

function wrongType(neutral: unknown): string {
  return typeof neutral === 'boolean' ? 'Give true or false.' : 'Give null.';
}

const common: Readonly<Record<string, Check>> = {
  index: truth,
  defaultValue: acceptOnly(null, 'A relation cannot have a default value. Set it on the foreign key field.'),
  primaryKey: acceptOnly(false, 'A relation cannot be the primary key.'),
  autoIncrement: acceptOnly(false, 'A relation cannot have "autoIncrement".'),
};
/** For relations whose foreign key is in another collection. */
const remoteKeyOptions: Readonly<Record<string, Check>> = {
  ...common,
  required: acceptOnly(
    false,
    'The foreign key of this relation is in another collection. Set "required" on that field.',
  ),
  allowNull: acceptOnly(
    true,
    'The foreign key of this relation is in another collection. Set "allowNull" on that field.',
  ),
};
const notUnique = acceptOnly(false, 'Only a belongsTo relation can be made unique. A hasOne relation always is.');

/** The checks of each relation type, by property. */
export const relationChecks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  belongsTo: {
    ...common,
    target: name,
    foreignKey: fieldNameProblem,
    targetKey: name,
    onDelete,
    required: truth,
    unique: truth,
    allowNull: acceptOnly(true, '"allowNull": false is not supported for relations. Give "required": true instead.'),
  },
  hasMany: {
    ...remoteKeyOptions,
    unique: notUnique,
    target: name,
    foreignKey: fieldNameProblem,
    sourceKey: name,
    onDelete,
  },
  hasOne: { ...remoteKeyOptions, unique: truth, target: name, foreignKey: fieldNameProblem, sourceKey: name, onDelete },
  belongsToMany: {
    ...remoteKeyOptions,
    unique: notUnique,
    target: name,
    through: collectionNameProblem,
    foreignKey: fieldNameProblem,
    otherKey: fieldNameProblem,
    sourceKey: name,
    targetKey: name,
  },
};

/** A checked relation without common properties that do not apply to it. */
export function dropNeutralProperties(input: Raw): Raw {
  const meaningless = ['defaultValue', 'allowNull', 'primaryKey', 'autoIncrement'];
  if (input['type'] !== 'belongsTo') meaningless.push('required', 'unique', 'index');
  return Object.fromEntries(Object.entries(input).filter(([key]) => !meaningless.includes(key)));
}
