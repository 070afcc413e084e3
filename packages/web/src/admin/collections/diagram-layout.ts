/**
 * Arranges collections in columns so that most arrows point in one direction: the target of a relation is left of its
 * source.
 */
import type { Collection } from '@tablinum/client';

export interface Box {
  readonly collection: Collection;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Arrow {
  readonly from: string;
  readonly field: string;
  readonly type: string;
  readonly to: string;
}

export const lineHeight = 20;
export const headHeight = 30;
const width = 190;
const gapX = 90;
const gapY = 28;
const maxHeight = 900;
/** Fields shown in a box. The number of the others is shown below them. */
export const maxFields = 8;

/** One arrow for each belongsTo and belongsToMany. hasOne and hasMany are the other sides of a belongsTo. */
export function buildArrows(collections: readonly Collection[]): Arrow[] {
  const names = new Set(collections.map((each) => each.name));
  return collections.flatMap(({ name, fields }) =>
    fields.flatMap(({ name: field, type, target }) =>
      (type === 'belongsTo' || type === 'belongsToMany') && target && names.has(target)
        ? [{ from: name, field, type, to: target }]
        : [],
    ),
  );
}

export function layoutCollections(collections: readonly Collection[]): Box[] {
  const arrows = buildArrows(collections);
  const depth = computeDepths(
    collections.map((each) => each.name),
    arrows,
  );
  const columns: Collection[][] = [];
  for (const each of collections) {
    const level = depth.get(each.name) ?? 0;
    columns[level] = [...(columns[level] ?? []), each];
  }
  const boxes: Box[] = [];
  let x = 0;
  for (const column of columns) {
    let y = 0;
    for (const collection of column ?? []) {
      const height = headHeight + Math.min(collection.fields.length, maxFields + 1) * lineHeight + 8;
      if (y > 0 && y + height > maxHeight) {
        y = 0;
        x += width + gapX / 2;
      }
      boxes.push({ collection, x, y, width, height });
      y += height + gapY;
    }
    x += width + gapX;
  }
  return boxes;
}

/** The length of the longest chain of belongsTo relations from each collection. A cycle is cut where it closes. */
function computeDepths(names: readonly string[], arrows: readonly Arrow[]): Map<string, number> {
  const found = new Map<string, number>();
  const visiting = new Set<string>();
  const outgoing = Map.groupBy(
    arrows.filter((arrow) => arrow.type === 'belongsTo' && arrow.from !== arrow.to),
    (arrow) => arrow.from,
  );
  const computeDepth = (name: string): number => {
    const known = found.get(name);
    if (known !== undefined) return known;
    if (visiting.has(name)) return 0;
    visiting.add(name);
    const depth = Math.max(0, ...(outgoing.get(name) ?? []).map((arrow) => computeDepth(arrow.to) + 1));
    visiting.delete(name);
    found.set(name, depth);
    return depth;
  };
  for (const name of names) computeDepth(name);
  return found;
}
