import { type CollectionModel, type Dataset, getRows, type Row } from '../oracle/model.ts';
import type { ReadAction, Visibility } from '../oracle/visibility.ts';
import type { Draw } from './draw.ts';
import { isForeignKey } from './schema.ts';
import { valuePools } from './values.ts';

const actions: readonly ReadAction[] = ['list', 'get'];

/**
 * Changes values of a dataset that a caller cannot see: in denied fields, and in invisible records.
 *
 * Keys, links and the trash stay, and the caller sees the same records. Null if nothing could be changed.
 */
export function changeHiddenValues(
  draw: Draw,
  world: Dataset,
  sightOf: (world: Dataset) => Visibility,
): Dataset | null {
  let changed: Dataset | null = null;
  const sight = sightOf(world);
  for (const collection of world.collections.values())
    getRows(world, collection.name).forEach((row, index) => {
      for (const field of collection.fields.filter((each) => isPlain(collection, each.name))) {
        if (draw.chance(30) || !isHidden(collection, row, field.name, sight)) continue;
        const value = draw.chance(15) ? null : draw.pick(valuePools[field.type]);
        const tried = withValue(changed ?? world, collection.name, index, field.name, value);
        if (seenKeys(tried, sightOf(tried)) === seenKeys(world, sight)) changed = tried;
      }
    });
  return changed;
}

/** Whether no relation and no constraint depends on a field. */
function isPlain({ fields, key }: CollectionModel, name: string): boolean {
  const field = fields.find((each) => each.name === name)!;
  return /^f\d/.test(name) && name !== key && !isForeignKey(field) && field.type !== 'password';
}

function isHidden(collection: CollectionModel, row: Row, name: string, sight: Visibility): boolean {
  return actions.every((action) => {
    const grant = sight.grant(collection, action);
    return !grant?.sees(row) || !grant.may(name);
  });
}

function withValue(
  { collections, rows }: Dataset,
  name: string,
  index: number,
  field: string,
  value: unknown,
): Dataset {
  const changed = rows.get(name)!.map((row, at) => (at === index ? { ...row, [field]: value } : row));
  return { collections, rows: new Map([...rows, [name, changed]]) };
}

function seenKeys(world: Dataset, sight: Visibility): string {
  const seen = [...world.collections.values()].flatMap((collection) =>
    actions.map((action) => {
      const grant = sight.grant(collection, action);
      return getRows(world, collection.name).map((row) => Number(grant?.sees(row) ?? false));
    }),
  );
  return JSON.stringify(seen);
}
