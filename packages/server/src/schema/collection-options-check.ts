import type { CollectionOptions, IndexDefinition } from '../protocol/definition.ts';
import { isObject } from '../protocol/json-text.ts';
import { type Details, note, type Raw } from './definition-details.ts';
import { optionChecks } from './field-type.ts';
import type { Collection } from './registry.ts';

/** The options of a new collection, completed by their defaults. */
export function checkOptions(input: unknown, details: Details): CollectionOptions {
  const options = { timestamps: true, paranoid: false, logging: false, authors: false };
  if (input === undefined || input === null) return options;
  if (!isObject(input)) {
    note(details, 'options', 'Give an object such as {"timestamps": true}.');
    return options;
  }
  for (const [key, value] of Object.entries(input)) {
    if (key === 'indexes') note(details, 'options.indexes', indexesProblem(value));
    else if (key in options) note(details, `options.${key}`, optionChecks.truth(value));
    else note(details, `options.${key}`, 'There is no such option.');
  }
  return { ...options, ...(input as Partial<CollectionOptions>) };
}

function indexesProblem(value: unknown): string | null {
  const holds =
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
  return holds ? null : 'Give a list such as [{"fields": ["createdAt"], "unique": false}].';
}

/** What `collections:update` asks of the options: indexes alone may change. */
export function checkOptionChange(options: Raw, collection: Collection, details: Details): void {
  for (const [key, value] of Object.entries(options)) {
    if (key === 'indexes') {
      const problem = indexesProblem(value);
      const names = problem === null ? (value as IndexDefinition[]).flatMap((index) => index.fields) : [];
      const bad = names.find((each) => !collection.byName.get(each)?.type.sortable);
      note(
        details,
        'options.indexes',
        problem ?? (bad === undefined ? null : `"${bad.slice(0, 60)}" is no field that can be indexed.`),
      );
    } else if ((collection.options as unknown as Raw)[key] !== value)
      note(details, `options.${key}`, 'This option is set when the collection is created.');
  }
}

/** Fields that the server keeps under these options, in their order. */
export function keptNames({ timestamps, authors, paranoid }: CollectionOptions): string[] {
  return [
    ...(timestamps ? ['createdAt', 'updatedAt'] : []),
    ...(authors ? ['createdById', 'createdBy', 'updatedById', 'updatedBy'] : []),
    ...(paranoid ? ['deletedAt', 'deletedWith'] : []),
  ];
}
