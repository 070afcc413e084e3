import type { Collection, Field, Key, RecordValues } from '@tablinum/client';

const labelFieldNames = ['title', 'name', 'label', 'subject', 'nickname', 'username', 'email', 'code'];
const textTypes = new Set(['string', 'text', 'email', 'phone', 'url']);

/** The field that labels a record: one with a telling name, else the first text field, else the key. */
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

/** The label of a record: the value of its label field, or its key. */
export function getRecordLabel(collection: Collection | null | undefined, record: RecordValues): string {
  if (!collection) return String(record['title'] ?? record['name'] ?? record['id'] ?? '');
  const text = record[findLabelField(collection).name];
  return text === null || text === undefined || text === ''
    ? `#${String(record[findKeyField(collection).name])}`
    : String(text);
}

/** Whether two keys identify the same record. Keys in URLs and events are text. */
export function isSameKey(a: Key | null | undefined, b: Key | null | undefined): boolean {
  return a != null && b != null && String(a) === String(b);
}
