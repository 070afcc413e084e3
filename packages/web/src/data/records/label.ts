import type { Collection, Field, Key, RecordValues } from '@tablinum/client';

const telling = ['title', 'name', 'label', 'subject', 'nickname', 'username', 'email', 'code'];
const texts = new Set(['string', 'text', 'email', 'phone', 'url']);

/** The field that names a record to people: one that is called so, else the first text, else the key. */
export function labelField(collection: Collection): Field {
  const { fields } = collection;
  const named = telling
    .map((name) => fields.find((field) => field.name === name && texts.has(field.type)))
    .find(Boolean);
  return named ?? fields.find((field) => texts.has(field.type) && !field.readOnly) ?? keyField(collection);
}

export function keyField({ fields }: Collection): Field {
  return fields.find((field) => field.primaryKey) ?? fields[0] ?? { name: 'id', type: 'integer' };
}

/** What people call a record: the value of its telling field, or its key. */
export function labelOf(collection: Collection | null | undefined, record: RecordValues): string {
  if (!collection) return String(record['title'] ?? record['name'] ?? record['id'] ?? '');
  const text = record[labelField(collection).name];
  return text === null || text === undefined || text === ''
    ? `#${String(record[keyField(collection).name])}`
    : String(text);
}

/** Whether two keys name the same record: a key in an address is text. */
export function sameKey(a: Key | null | undefined, b: Key | null | undefined): boolean {
  return a != null && b != null && String(a) === String(b);
}
