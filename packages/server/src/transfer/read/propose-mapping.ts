/** Proposes for each column of a file the field that it belongs to. */
import type { Collection, Field, Registry } from '../../schema/registry.ts';
import { splitWords } from './field-names.ts';

/** A field that a column can be imported into. */
export interface MappingTarget {
  readonly field: string;
  /** The unique field of the related collection by which a cell names the record; null if the cell is the value itself. */
  readonly lookup: string | null;
  /** The texts of headers that mean it, best first. */
  readonly names: readonly string[];
}

export interface ProposedColumn {
  readonly field: string | null;
  readonly lookup: string | null;
  /**
   * The column is not a field and can be left out: `line` and `reason` of refused rows, and `author.name` next to
   * `authorId`.
   */
  readonly ignored: boolean;
}

const refusedRowColumns = ['line', 'reason'];
const maxComparedLength = 200;

/** The fields of a collection that clients can write, and the related records that a unique field can name. */
export function listMappingTargets(collection: Collection, registry: Registry): MappingTarget[] {
  const writable = collection.fields.filter((field) => !field.serverManaged && !field.hidden);
  const own = writable
    .filter(({ relation }) => relation?.kind !== 'belongsTo')
    .map(({ name, definition }) => ({ field: name, lookup: null, names: [name, definition.title ?? name] }));
  return [...own, ...writable.flatMap((field) => listRelationTargets(field, registry))];
}

/** `author.id` and `author.email`, as exports write them, for a relation whose foreign key is in this collection. */
function listRelationTargets({ name, definition, relation }: Field, registry: Registry): MappingTarget[] {
  const target = relation?.kind === 'belongsTo' ? registry.find(relation.target) : null;
  if (!relation || !target) return [];
  const title = definition.title ?? name;
  const toNames = (field: Field): string[] => [
    `${name}.${field.name}`,
    `${title} / ${field.definition.title ?? field.name}`,
  ];
  const key = target.byName.get(relation.targetField);
  const unique = target.fields.filter(
    (field) => field !== key && (field.definition.unique || field.primaryKey) && !field.hidden,
  );
  return [
    { field: relation.sourceField, lookup: null, names: [...(key ? toNames(key) : []), name, title] },
    ...unique.map((field) => ({ field: relation.sourceField, lookup: field.name, names: toNames(field) })),
  ];
}

/**
 * Each field is proposed once, for the column whose header is most alike: by name, by title, without regard to case, accents, spaces and
 * signs, in the singular or plural, or with a typing error.
 */
export function proposeMapping(columns: readonly string[], targets: readonly MappingTarget[]): ProposedColumn[] {
  const fields = new Set<string>();
  const added = countAddedColumns(columns, targets);
  const proposed = columns.map((): MappingTarget | null => null);
  for (const { index, target } of rankMatches(columns, targets)) {
    if (index < added || proposed[index] || fields.has(target.field)) continue;
    proposed[index] = target;
    fields.add(target.field);
  }
  return columns.map((header, index) => {
    const target = proposed[index];
    if (target) return { field: target.field, lookup: target.lookup, ignored: false };
    return { field: null, lookup: null, ignored: index < added || isOfMappedRelation(header, targets, fields) };
  });
}

/** A file of refused rows begins with `line` and `reason`. If the collection has such fields, the names follow once more. */
function countAddedColumns(columns: readonly string[], targets: readonly MappingTarget[]): number {
  const areAdded = refusedRowColumns.every(
    (name, index) =>
      columns[index] === name && (columns.includes(name, 2) || !targets.some(({ field }) => field === name)),
  );
  return areAdded ? refusedRowColumns.length : 0;
}

/** A field of a related record whose foreign key another column gives. */
function isOfMappedRelation(header: string, targets: readonly MappingTarget[], mapped: ReadonlySet<string>): boolean {
  const separator = [' / ', '.'].find((each) => header.includes(each));
  if (separator === undefined) return false;
  const relation = header.slice(0, header.indexOf(separator));
  return targets.some(
    ({ field, names }) => mapped.has(field) && names.some((name) => name.startsWith(relation + separator)),
  );
}

interface Match {
  readonly index: number;
  readonly target: MappingTarget;
  readonly score: number;
}

function rankMatches(columns: readonly string[], targets: readonly MappingTarget[]): Match[] {
  const known = targets.map((target) => ({ target, forms: target.names.map(toForms) }));
  const matches: Match[] = [];
  for (const [index, header] of columns.entries()) {
    const forms = toForms(header.trim());
    for (const { target, forms: each } of known) {
      const score = Math.max(...each.map((name, position) => compareForms(forms, name) - position * 0.1));
      if (score > 0) matches.push({ index, target, score });
    }
  }
  return matches.sort((first, second) => second.score - first.score || first.index - second.index);
}

interface NameForms {
  readonly text: string;
  /** Basic letters and digits in lower case. */
  readonly plain: string;
  readonly singular: string;
}

function toForms(text: string): NameForms {
  const words = splitWords(text.slice(0, maxComparedLength));
  return { text, plain: words.join(''), singular: words.map(toSingular).join('') };
}

/** English plurals, and some German ones. */
function toSingular(word: string): string {
  if (word.length <= 3) return word;
  return word
    .replace(/ies$/, 'y')
    .replace(/(?<=[sxz]|ch|sh)es$/, '')
    .replace(/(?<=[^s])s$/, '');
}

/** From 10 for equal texts down to 1; 0 for different names. */
function compareForms(header: NameForms, name: NameForms): number {
  if (header.text === name.text) return 10;
  if (header.text.toLowerCase() === name.text.toLowerCase()) return 9;
  if (header.plain === '') return 0;
  if (header.plain === name.plain) return 8;
  if (header.singular === name.singular) return 6;
  const length = Math.min(header.plain.length, name.plain.length);
  const allowed = length >= 9 ? 2 : length >= 5 ? 1 : 0;
  const distance = measureDistance(header.plain, name.plain, allowed);
  return distance <= allowed ? 4 - distance : 0;
}

/** Insertions, deletions, replacements and exchanges of neighbours; more than `bound` if it is greater. */
function measureDistance(first: string, second: string, bound: number): number {
  if (bound === 0 || Math.abs(first.length - second.length) > bound) return bound + 1;
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: second.length + 1 }, (_, index) => index);
  for (let row = 1; row <= first.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= second.length; column += 1) {
      const isEqual = first[row - 1] === second[column - 1];
      let cost = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (isEqual ? 0 : 1),
      );
      if (row > 1 && column > 1 && first[row - 1] === second[column - 2] && first[row - 2] === second[column - 1])
        cost = Math.min(cost, (beforePrevious[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[second.length] ?? bound + 1;
}
