import type { FieldDefinition } from '../protocol/definition.ts';
import type { FieldType } from './field-type.ts';
import { arrayType } from './types/array.ts';
import { bigIntType } from './types/big-int.ts';
import { booleanType } from './types/boolean.ts';
import { dateType } from './types/date.ts';
import { datetimeType } from './types/datetime.ts';
import { decimalType } from './types/decimal.ts';
import { doubleType } from './types/double.ts';
import { floatType } from './types/float.ts';
import {
  colorType,
  createFormattedType,
  emailType,
  phoneType,
  type TextForm,
  urlType,
} from './types/formatted-text.ts';
import { integerType } from './types/integer.ts';
import { jsonType } from './types/json.ts';
import { passwordType } from './types/password.ts';
import { belongsToManyType, belongsToType, hasManyType, hasOneType } from './types/relations.ts';
import { selectType } from './types/select.ts';
import { sortType } from './types/sort.ts';
import { stringType } from './types/string.ts';
import { textType } from './types/text.ts';
import { timeType } from './types/time.ts';
import { uidType } from './types/uid.ts';
import { addFormat } from './value-schema.ts';

const allTypes = [
  stringType,
  textType,
  integerType,
  bigIntType,
  floatType,
  doubleType,
  decimalType,
  booleanType,
  dateType,
  timeType,
  datetimeType,
  jsonType,
  arrayType,
  selectType,
  sortType,
  uidType,
  passwordType,
  emailType,
  urlType,
  phoneType,
  colorType,
  belongsToType,
  hasOneType,
  hasManyType,
  belongsToManyType,
];

/** Every field type by its spelling on the wire. */
export const fieldTypes: ReadonlyMap<string, FieldType> = new Map(allTypes.map((type) => [type.name, type]));

const addedTextTypes = new Map<string, TextForm>();

/**
 * Adds a type of text with a form of its own, for as long as the process lives.
 *
 * @returns false where there is another one of that name.
 */
export function addTextType(type: TextForm & { readonly name: string; readonly maxLength: number }): boolean {
  const { name, maxLength } = type;
  if (addedTextTypes.has(name)) return addedTextTypes.get(name) === type;
  if (fieldTypes.has(name) || !addFormat(name, type)) return false;
  addedTextTypes.set(name, type);
  (fieldTypes as Map<string, FieldType>).set(name, createFormattedType(name, name, maxLength));
  return true;
}

/** The type of a field as its definition shapes it. */
export function resolveFieldType(definition: FieldDefinition): FieldType {
  if (definition.type === 'datetime' && definition.dateOnly) return { ...dateType, name: 'datetime' };
  const type = fieldTypes.get(definition.type);
  if (!type) throw new Error(`the field type "${definition.type}" is not there; an extension that added it is missing`);
  return type.forDefinition?.(definition) ?? type;
}
