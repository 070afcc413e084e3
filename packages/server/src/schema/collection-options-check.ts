import { ApiError } from '../protocol/api-error.ts';
import type { CollectionOptions, IndexDefinition } from '../protocol/definition.ts';
import { isObject } from '../protocol/json-text.ts';
import { limits } from '../protocol/limits.ts';
import { addDetail, type Details, type Raw } from './definition-details.ts';
import { optionChecks } from './field-type.ts';
import type { Collection } from './registry.ts';

/** Options that are on or off, and may be switched at any time. */
export const switchNames = ['timestamps', 'paranoid', 'logging', 'authors'] as const;
export type SwitchName = (typeof switchNames)[number];
/** Options to switch on (true) or off (false); missing ones do not change. */
export type Switches = Readonly<Partial<Record<SwitchName, boolean>>>;

const defaults: CollectionOptions = { timestamps: true, paranoid: false, logging: false, authors: false };
const optionNames: ReadonlySet<string> = new Set([...switchNames, 'indexes', 'search']);

/** The options in a body, and the name of each of them in error messages. */
export interface GivenOptions {
  readonly values: Raw;
  path(name: string): string;
}

/** Whether a member of the body is an option that is given next to `options` instead of in it. */
export function isFlatOption(name: string): boolean {
  return optionNames.has(name);
}

/**
 * Reads the options of a collection, in `options` or next to it.
 *
 * @throws ApiError 400 for an option that is given in both places with different values.
 */
export function readOptions(input: Raw, details: Details): GivenOptions {
  const nested = input['options'] ?? {};
  if (!isObject(nested)) addDetail(details, 'options', 'Give an object such as {"timestamps": true}.');
  const inOptions: Raw = isObject(nested) ? nested : {};
  const flat = Object.fromEntries(Object.entries(input).filter(([name]) => isFlatOption(name)));
  requireNoContradiction(flat, inOptions);
  return {
    values: { ...inOptions, ...flat },
    path: (name) => (Object.hasOwn(inOptions, name) || !Object.hasOwn(flat, name) ? `options.${name}` : name),
  };
}

/** @throws ApiError 400 naming the member that both objects have with different values. */
export function requireNoContradiction(flat: Raw, nested: Raw): void {
  const name = Object.keys(flat).find(
    (each) => Object.hasOwn(nested, each) && JSON.stringify(flat[each]) !== JSON.stringify(nested[each]),
  );
  if (name !== undefined)
    throw new ApiError(
      'BODY_INVALID',
      `"${name.slice(0, 60)}" and "options.${name.slice(0, 60)}" have different values. Give the option once.`,
    );
}

/** Completes options: those of a new collection by the defaults, those of an existing one by its present options. */
export function checkOptions(given: GivenOptions, existing: Collection | null, details: Details): CollectionOptions {
  const problems = Object.entries(given.values).map(([name, value]) => [name, optionProblem(name, value)] as const);
  for (const [name, problem] of problems) addDetail(details, given.path(name), problem);
  return { ...(existing?.options ?? defaults), ...(given.values as Partial<CollectionOptions>) };
}

function optionProblem(name: string, value: unknown): string | null {
  if (name === 'indexes') return indexesProblem(value);
  if (name === 'search') return searchProblem(value);
  return optionNames.has(name)
    ? optionChecks.truth(value)
    : `There is no option "${name.slice(0, 60)}". The options are: ${[...optionNames].join(', ')}.`;
}

function indexesProblem(value: unknown): string | null {
  const isValid =
    Array.isArray(value) &&
    value.every(
      (index: unknown) =>
        isObject(index) &&
        Array.isArray(index['fields']) &&
        index['fields'].length > 0 &&
        index['fields'].length <= 10 &&
        index['fields'].every((each) => typeof each === 'string') &&
        (index['unique'] === undefined || typeof index['unique'] === 'boolean') &&
        Object.keys(index).every((key) => key === 'fields' || key === 'unique'),
    );
  if (!isValid) return 'Give a list such as [{"fields": ["createdAt"], "unique": false}].';
  return value.length > limits.indexes
    ? `A collection can have at most ${limits.indexes} indexes. Remove some of them.`
    : null;
}

function searchProblem(value: unknown): string | null {
  const isList = Array.isArray(value) && value.every((each) => typeof each === 'string');
  if (!isList || new Set(value).size < value.length)
    return 'Give a list of different text fields, such as ["title", "body"].';
  return value.length > limits.searchIndexes
    ? `At most ${limits.searchIndexes} fields of a collection can have a search index. Remove some of them.`
    : null;
}

/**
 * Checks the options of `collections:update`. Whether the fields of an index exist is checked when the change is
 * planned.
 */
export function checkOptionChange(
  given: GivenOptions,
  details: Details,
): {
  readonly switches: Switches;
  readonly indexes: readonly IndexDefinition[] | undefined;
  readonly search: readonly string[] | undefined;
} {
  for (const [name, value] of Object.entries(given.values))
    addDetail(details, given.path(name), optionProblem(name, value));
  const { indexes, search, ...switches } = given.values;
  return {
    switches: switches as Switches,
    indexes: indexes as readonly IndexDefinition[] | undefined,
    search: search as readonly string[] | undefined,
  };
}

/** The fields that the server manages with these options, in their order. */
export function listServerManagedFields({ timestamps, authors, paranoid }: CollectionOptions): string[] {
  return [
    ...(timestamps ? ['createdAt', 'updatedAt'] : []),
    ...(authors ? ['createdById', 'createdBy', 'updatedById', 'updatedBy'] : []),
    ...(paranoid ? ['deletedAt', 'deletedWith'] : []),
  ];
}

/** The server-managed fields that an index or the `scopeKey` of a sort field may name. */
export function listIndexableManagedFields(options: CollectionOptions): string[] {
  return listServerManagedFields(options).filter((name) => !['createdBy', 'updatedBy', 'deletedWith'].includes(name));
}
