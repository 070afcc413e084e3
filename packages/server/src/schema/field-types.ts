import type { FieldDefinition } from '../protocol/definition.ts';
import type { FieldType } from './field-type.ts';
import { arrayType } from './types/array.ts';
import { bigIntType } from './types/big-int.ts';
import { booleanType } from './types/boolean.ts';
import { dateType } from './types/date.ts';
import { datetimeType } from './types/datetime.ts';
import { decimalType } from './types/decimal.ts';
import { doubleType } from './types/double.ts';
import { fileType } from './types/file.ts';
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

const builtInTypes: readonly FieldType[] = [
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
  fileType,
  emailType,
  urlType,
  phoneType,
  colorType,
  belongsToType,
  hasOneType,
  hasManyType,
  belongsToManyType,
];

/** The field types by their names on the wire: the built-in ones in the order of the list, then those of extensions. */
class FieldTypes {
  readonly #byName = new Map(builtInTypes.map((type) => [type.name, type]));
  /** Text types that extensions added, by name. */
  readonly #addedForms = new Map<string, TextForm>();

  /** The type of a name, or undefined. */
  find(name: string): FieldType | undefined {
    return this.#byName.get(name);
  }

  /** The type of a name that is known to exist. */
  get(name: string): FieldType {
    const type = this.find(name);
    if (!type) throw new Error(`the field type "${name}" does not exist; the extension that added it is missing`);
    return type;
  }

  names(): string[] {
    return [...this.#byName.keys()];
  }

  all(): FieldType[] {
    return [...this.#byName.values()];
  }

  /** See {@link addTextType}. */
  addText(type: TextForm & { readonly name: string; readonly maxLength: number }): boolean {
    const { name, maxLength } = type;
    const added = this.#addedForms.get(name);
    if (added) return added === type;
    if (this.#byName.has(name) || !addFormat(name, type)) return false;
    this.#addedForms.set(name, type);
    this.#byName.set(name, createFormattedType(name, name, maxLength));
    return true;
  }
}

/** Every field type of this process. */
export const fieldTypes = new FieldTypes();

/**
 * Adds a text type with its own format until the process ends. Adding the same type again has no effect.
 *
 * @returns false if another type has the name.
 */
export function addTextType(type: TextForm & { readonly name: string; readonly maxLength: number }): boolean {
  return fieldTypes.addText(type);
}

/** The type of a field, adapted to its definition. */
export function resolveFieldType(definition: FieldDefinition): FieldType {
  if (definition.type === 'datetime' && definition.dateOnly) return { ...dateType, name: 'datetime' };
  const type = fieldTypes.get(definition.type);
  return type.forDefinition?.(definition) ?? type;
}
