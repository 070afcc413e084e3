/** Finds the records that pasted cells name, by their key or by their label. */
import type { Client, Collection, Field, Filter, Key, RecordValues } from '@tablinum/client';
import { getTitle } from '../../data/field-names.ts';
import { findKeyField, findLabelField } from '../../data/records/label.ts';
import type { ImportTexts } from '../../ui/i18n/en/imports.ts';
import type { RelationLookup } from './paste-plan.ts';
import { isNumber } from './value-text.ts';

/** Texts in one filter: it is sent in the URL, whose length is limited. */
const textsPerRequest = 50;

interface LookupOptions {
  readonly client: Client;
  readonly targets: ReadonlyMap<string, Collection>;
  readonly problems: ImportTexts['paste']['problems'];
}

/**
 * Reads the related records that the columns of a table name.
 *
 * @param columns the field of each column of the table; only relations are read.
 */
export async function createRelationLookup(
  table: readonly (readonly string[])[],
  columns: readonly (Field | undefined)[],
  { client, targets, problems }: LookupOptions,
): Promise<RelationLookup> {
  const found = new Map<Field, ReadonlyMap<string, readonly Key[]>>();
  for (const [index, field] of columns.entries()) {
    if (field?.type !== 'belongsTo') continue;
    const texts = new Set(table.map((cells) => cells[index]?.trim() ?? '').filter((text) => text !== ''));
    found.set(field, await findRecords(field, [...texts], { client, targets }));
  }
  return (field, text) => {
    const keys = found.get(field)?.get(text) ?? [];
    const target = targets.get(field.target ?? '');
    const title = target ? getTitle(target) : (field.target ?? '');
    if (keys.length > 1) return { problem: problems.manyLinks(title) };
    return keys[0] === undefined ? { problem: problems.noLink(title) } : { key: keys[0] };
  };
}

/** The keys of the records that have a text as their key, or else as their label. */
async function findRecords(
  field: Field,
  texts: readonly string[],
  { client, targets }: Pick<LookupOptions, 'client' | 'targets'>,
): Promise<ReadonlyMap<string, readonly Key[]>> {
  const target = targets.get(field.target ?? '');
  const keys = new Map<string, readonly Key[]>();
  if (!target) return keys;
  const keyField = target.fields.find(({ name }) => name === field.targetKey) ?? findKeyField(target);
  const label = findLabelField(target);
  for (let first = 0; first < texts.length; first += textsPerRequest) {
    const part = texts.slice(first, first + textsPerRequest);
    const records = await readNamedRecords(client, target, { keyField, label, texts: part });
    for (const text of part) {
      const byKey = records.filter((record) => String(record[keyField.name]) === text);
      const named = byKey.length > 0 ? byKey : records.filter((record) => record[label.name] === text);
      keys.set(
        text,
        named.map((record) => record[keyField.name] as Key),
      );
    }
  }
  return keys;
}

interface NamedRecords {
  readonly keyField: Field;
  readonly label: Field;
  readonly texts: readonly string[];
}

async function readNamedRecords(
  client: Client,
  target: Collection,
  { keyField, label, texts }: NamedRecords,
): Promise<readonly RecordValues[]> {
  const keys = isNumber(keyField) ? texts.filter((text) => /^\d{1,15}$/.test(text)).map(Number) : texts;
  const conditions: Filter[] = keys.length > 0 ? [{ [keyField.name]: { $in: keys } }] : [];
  if (label.name !== keyField.name) conditions.push({ [label.name]: { $in: texts } });
  if (conditions.length === 0) return [];
  const fields = [...new Set([keyField.name, label.name])];
  const records: RecordValues[] = [];
  const query = { filter: { $or: conditions }, fields, pageSize: 200, count: 'none' as const };
  for await (const page of client.records(target.name).pages(query)) records.push(...page);
  return records;
}
