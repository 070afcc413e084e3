import type { FieldType } from './field-type.ts';
import { booleanType } from './types/boolean.ts';
import { datetimeType } from './types/datetime.ts';
import { floatType } from './types/float.ts';
import { integerType } from './types/integer.ts';
import { jsonType } from './types/json.ts';
import { passwordType } from './types/password.ts';
import { belongsToManyType, belongsToType, hasManyType } from './types/relations.ts';
import { stringType } from './types/string.ts';
import { textType } from './types/text.ts';
import { uidType } from './types/uid.ts';

const all = [
  stringType,
  textType,
  integerType,
  floatType,
  booleanType,
  datetimeType,
  jsonType,
  uidType,
  passwordType,
  belongsToType,
  hasManyType,
  belongsToManyType,
];

/** Every field type by its spelling on the wire. */
export const fieldTypes: ReadonlyMap<string, FieldType> = new Map(all.map((type) => [type.name, type]));

/** The types that people may define; the others serve system collections until their issue comes. */
export const definableTypes: ReadonlySet<string> = new Set(
  all.map((type) => type.name).filter((name) => name !== 'password' && name !== 'belongsToMany'),
);
