import type { Collection, Field, Key, RecordValues } from '@tablinum/client';

const labelFieldNames = ['title', 'name', 'label', 'subject', 'nickname', 'username', 'email', 'code'];
const textTypes = new Set(['string', 'text', 'email', 'phone', 'url']);

/** The field that names a record to people: one that is called so, else the first text, else the key. */
export function findLabelField(collection: Collection): Field {
  const { fields } = collection;
  const namedField = labelFieldNames
    .map((name) => fields.find((field) => field.name === name && textTypes.has(field.type)))
    .find(Boolean);
  return namedField ?? fields.find((field) => textTypes.has(field.type) && !field.readOnly) ?? findKeyField(collection);
}

export function findKeyField({ fields }: Collection): Field {
  return fields.find((field) => field.primaryKey) ?? fields[0] ?? { name: 'id', type: 'integer' };
}

/** What people call a record: the value of its telling field, or its key. */
export function getRecordLabel(collection: Collection | null | undefined, record: RecordValues): string {
  if (!collection) return String(record['title'] ?? record['name'] ?? record['id'] ?? '');
  const text = record[findLabelField(collection).name];
  return text === null || text === undefined || text === ''
    ? `#${String(record[findKeyField(collection).name])}`
    : String(text);
}

/** Whether two keys name the same record: a key in an address is text. */
export function isSameKey(a: Key | null | undefined, b: Key | null | undefined): boolean {
  return a != null && b != null && String(a) === String(b);
}
