import type { CollectionModel, Dataset, FieldModel, Row } from '../oracle/model.ts';
import type { Draw } from './draw.ts';
import { isForeignKey, type RandomSchema } from './schema.ts';
import { now, valuePools } from './values.ts';

/** Records for a schema, linked at random, some of them in the trash. */
export function makeRandomRows(draw: Draw, { collections, joins }: RandomSchema): Dataset {
  const rows = new Map<string, Row[]>();
  for (const collection of collections)
    rows.set(
      collection.name,
      draw.times(0, 9, (index) => plainRow(draw, collection, index)),
    );
  for (const { collection, foreignKey, unique, target, by } of foreignKeys(collections)) {
    const values = rows.get(target)!.map((row) => row[by]);
    link(draw, rows.get(collection)! as Record<string, unknown>[], foreignKey, values, unique);
  }
  for (const collection of collections)
    for (const { through, target, sourceField, targetField } of collection.relations)
      if (through?.sourceField === 'fromKey')
        rows.set(
          through.collection,
          links(draw, present(rows.get(collection.name)!, sourceField), present(rows.get(target)!, targetField)),
        );
  return { collections: new Map([...collections, ...joins].map((each) => [each.name, each])), rows };
}

function plainRow(draw: Draw, collection: CollectionModel, index: number): Row {
  const { key, fields, paranoid } = collection;
  const row: Record<string, unknown> = {};
  for (const field of fields) {
    if (field.name === key) row[key] = makeKey(field, index);
    else if (field.name === 'code') row['code'] = draw.chance(80) ? makeCode(field, index) : null;
    else row[field.name] = isForeignKey(field) || draw.chance(20) ? null : draw.pick(valuePools[field.type]);
  }
  return paranoid ? { ...row, deletedAt: draw.chance(25) ? new Date(now).toISOString() : null } : row;
}

function makeKey({ type }: FieldModel, index: number): unknown {
  if (type === 'string') return ['k', 'K', 'a,b', 'é', '\u{1F600}', '\uFFFD', '0', 'x y', '%'][index];
  return type === 'bigInt'
    ? ['9007199254740993', '9007199254740992', 5, -3, 0, 77, 12, 9, '-9007199254740995'][index]
    : index + 1;
}

function makeCode({ type }: FieldModel, index: number): unknown {
  return type === 'string'
    ? ['c', 'C', 'ç', 'cc', '', 'd', '1', "o'", '\u{1F600}'][index]
    : [10, 9, -4, 0, 7, 3, 2, 1, 8][index];
}

interface ForeignKey {
  readonly collection: string;
  readonly foreignKey: string;
  readonly unique: boolean;
  readonly target: string;
  readonly by: string;
}

/** Each foreign key once, although several relations may use it. */
function foreignKeys(collections: readonly CollectionModel[]): ForeignKey[] {
  const found = new Map<string, ForeignKey>();
  for (const { name, relations } of collections)
    for (const { kind, target, sourceField, targetField } of relations) {
      if (kind === 'belongsToMany') continue;
      const here = kind === 'belongsTo';
      const [collection, foreignKey] = here ? [name, sourceField] : [target, targetField];
      const known = found.get(`${collection}.${foreignKey}`);
      const unique = kind === 'hasOne' || (known?.unique ?? false);
      const [named, by] = here ? [target, targetField] : [name, sourceField];
      found.set(`${collection}.${foreignKey}`, { collection, foreignKey, unique, target: named, by });
    }
  return [...found.values()];
}

function link(
  draw: Draw,
  rows: Record<string, unknown>[],
  foreignKey: string,
  values: unknown[],
  unique: boolean,
): void {
  let free = values.filter((value) => value !== null);
  for (const row of rows) {
    if (free.length === 0 || draw.chance(25)) continue;
    const value = draw.pick(free);
    row[foreignKey] = value;
    if (unique) free = free.filter((each) => each !== value);
  }
}

function present(rows: readonly Row[], name: string): unknown[] {
  return rows.map((row) => row[name]).filter((value) => value !== null);
}

function links(draw: Draw, from: readonly unknown[], to: readonly unknown[]): Row[] {
  const pairs = from.flatMap((fromKey) => to.map((toKey) => ({ fromKey, toKey })));
  return draw.some(pairs, 35).map((pair, index) => ({ id: index + 1, ...pair }));
}
