import type { Collection, ExportParameters, Field, Key } from '@tablinum/client';
import { findKeyField, findLabelField } from '../../data/records/label.ts';
import type { ListQuery } from '../../data/records/row-window.ts';

/** The choices of the export dialog. */
export interface ExportChoice {
  /** The records that the list shows, the selected ones, or all. */
  readonly records: 'shown' | 'selected' | 'all';
  readonly format: 'csv' | 'xlsx' | 'json' | 'ndjson';
  /** Only the columns of the grid, in their order. */
  readonly shownColumns: boolean;
  readonly titles: boolean;
  readonly bom: boolean;
}

/** The list that an export is made from. */
export interface ExportedList {
  readonly view: ListQuery;
  readonly selected: readonly Key[];
  /** The columns of the grid. */
  readonly fields: readonly Field[];
  readonly targets: ReadonlyMap<string, Collection>;
}

/** The parameters of the export that a user chose. */
export function buildExportParameters(
  { records, format, shownColumns, titles, bom }: ExportChoice,
  { view, selected, fields, targets }: ExportedList,
): ExportParameters {
  const { filter, search, sort, onlyDeleted } = view;
  return {
    format,
    ...(records === 'shown' && { filter, search, onlyDeleted }),
    ...(records === 'selected' && { filterByTk: selected, onlyDeleted }),
    sort,
    ...(shownColumns && { fields: fields.flatMap((field) => listExportedNames(field, targets)) }),
    ...((format === 'csv' || format === 'xlsx') && titles && { header: 'titles' as const }),
    ...(format === 'csv' && bom && { bom: true }),
  };
}

/** A belongsTo relation is exported as its key and the label of its record. */
function listExportedNames(field: Field, targets: ReadonlyMap<string, Collection>): string[] {
  if (field.type !== 'belongsTo') return [field.name];
  const { foreignKey: key } = field;
  const target = targets.get(field.target ?? '');
  if (!target || key === undefined) return [key ?? field.name];
  const label = findLabelField(target).name;
  return label === findKeyField(target).name ? [key] : [key, `${field.name}.${label}`];
}
