/** What a user chooses in the import wizard, and the request that follows from it. */
import type { Collection, Field } from '@tablinum/client';
import { getTitle, getWriteName } from '../../data/field-names.ts';
import { findKeyField } from '../../data/records/label.ts';
import type { Schema } from '../../data/schema.ts';
import { listColumnFields } from '../records/columns.ts';
import type { ColumnMapping, ImportMode, ImportPreview, ImportRequest, PreviewColumn, SourceOptions } from './dto.ts';

/** Where a column goes; a null field leaves it out. */
export interface ColumnTarget {
  readonly field: string | null;
  readonly lookup: string | null;
}

export interface ImportDraft {
  readonly source: SourceOptions;
  readonly mode: ImportMode;
  /** The fields by which records are found; null for the primary key. */
  readonly matchFields: readonly string[];
  readonly addOptions: boolean;
  /** The changed targets, by {@link getColumnId}. The others are the proposed ones. */
  readonly targets: Readonly<Record<string, ColumnTarget>>;
}

/** Identifies a column of a preview. Another sheet has other columns at the same index. */
export function getColumnId({ index, name }: PreviewColumn): string {
  return `${index}:${name}`;
}

/** A field that a column can be imported to. */
export interface TargetField {
  /** The property of the record: the foreign key for a relation. */
  readonly name: string;
  readonly title: string;
  readonly field: Field;
}

/** The modes that the role allows, the default first. */
export function listModes(collection: string, { may }: Pick<Schema, 'may'>): ImportMode[] {
  const mayCreate = may(collection, 'create');
  const mayUpdate = may(collection, 'update') && may(collection, 'list');
  return [
    ...(mayCreate ? (['create'] as const) : []),
    ...(mayUpdate ? (['update'] as const) : []),
    ...(mayCreate && mayUpdate ? (['upsert'] as const) : []),
  ];
}

/** The fields that the role may write in this mode, and the primary key, by which records can be found. */
export function listTargetFields(collection: Collection, schema: Schema, mode: ImportMode): TargetField[] {
  const form = schema.forms.get(collection.name) ?? collection;
  const key = findKeyField(collection).name;
  const actions = mode === 'upsert' ? (['create', 'update'] as const) : [mode];
  const passwords = form.fields.filter(({ type }) => type === 'password');
  return [...listColumnFields(form), ...passwords]
    .filter((field) => !field.target || field.type === 'belongsTo')
    .map((field) => ({ name: getWriteName(field), title: getTitle(field), field }))
    .filter(
      ({ name, field }) =>
        (mode !== 'create' && name === key) ||
        (!field.readOnly && actions.some((action) => schema.mayWrite(collection.name, action, name))),
    );
}

/** The target of a column: the chosen one, or else the proposed one if it can be written. */
export function getTarget(draft: ImportDraft, column: PreviewColumn, fields: readonly TargetField[]): ColumnTarget {
  const chosen = draft.targets[getColumnId(column)] ?? { field: column.field ?? null, lookup: column.lookup ?? null };
  const found = fields.find(({ name, field }) => name === chosen.field || field.name === chosen.field);
  return found
    ? { field: found.name, lookup: found.field.target ? chosen.lookup : null }
    : { field: null, lookup: null };
}

/** The imported columns. */
export function listMapping(
  draft: ImportDraft,
  { columns }: Pick<ImportPreview, 'columns'>,
  fields: readonly TargetField[],
): ColumnMapping[] {
  return columns.flatMap((column) => {
    const { field, lookup } = getTarget(draft, column, fields);
    return field === null ? [] : [{ column: column.index, field, ...(lookup !== null && { lookup }) }];
  });
}

/** The fields by which records are found, as far as they are imported. */
export function listMatchFields(
  { matchFields }: ImportDraft,
  mapping: readonly ColumnMapping[],
  collection: Collection,
): string[] {
  const key = findKeyField(collection).name;
  const isMapped = (name: string): boolean => mapping.some(({ field }) => field === name);
  const chosen = matchFields.filter(isMapped);
  return chosen.length === 0 && isMapped(key) ? [key] : chosen;
}

export type MappingProblem = 'nothing' | 'twice' | 'match' | null;

/** Why a mapping cannot be imported yet. */
export function findMappingProblem(
  draft: ImportDraft,
  mapping: readonly ColumnMapping[],
  collection: Collection,
): MappingProblem {
  if (mapping.length === 0) return 'nothing';
  if (listRepeatedFields(mapping).size > 0) return 'twice';
  return draft.mode !== 'create' && listMatchFields(draft, mapping, collection).length === 0 ? 'match' : null;
}

/** The fields to which several columns would be imported. */
export function listRepeatedFields(mapping: readonly ColumnMapping[]): ReadonlySet<string> {
  const names = mapping.map(({ field }) => field);
  return new Set(names.filter((name, index) => names.indexOf(name) !== index));
}

export function buildImportRequest(
  file: number,
  draft: ImportDraft,
  mapping: readonly ColumnMapping[],
  collection: Collection,
): ImportRequest {
  const { source, mode, addOptions } = draft;
  return {
    file,
    ...source,
    mapping,
    mode,
    ...(mode !== 'create' && { matchFields: listMatchFields(draft, mapping, collection) }),
    ...(addOptions && { addOptions }),
  };
}
