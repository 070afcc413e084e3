/** A filter while it is edited, as groups of conditions or as JSON in the format of the API. */
import type { Collection, Filter } from '@tablinum/client';
import { useMemo, useState } from 'react';
import { useSchema } from '../../data/schema.ts';
import { buildFilterFields, type FilterFields } from './filter-fields.ts';
import { type FilterGroup, hasValidOperands, isComplete, newGroup, toFilter, toFilterModel } from './filter-model.ts';

export interface FilterDraft {
  readonly fields: FilterFields;
  readonly group: FilterGroup;
  readonly change: (group: FilterGroup) => void;
  /** The filter as JSON text; null while it is edited as conditions. */
  readonly json: string | null;
  readonly setJson: (json: string) => void;
  readonly toggle: () => void;
  /** The JSON filter cannot be shown as conditions. */
  readonly isTooComplex: boolean;
  /** The user has tried to apply the filter: invalid values are marked. */
  readonly isChecked: boolean;
  /** The filter; undefined for none, null if the JSON or a value is invalid. */
  readonly parse: () => Filter | undefined | null;
  /**
   * Like {@link parse}, but also null while a condition is incomplete. For rules, because a missing condition would
   * widen them.
   */
  readonly parseComplete: () => Filter | undefined | null;
  readonly clear: () => void;
}

/** A collection without fields, used while none is selected. */
export const emptyCollection: Collection = { name: '', title: null, description: null, fields: [], options: {} };

/** @param filter the initial filter. It is shown as conditions once the fields that it names are known. */
export function useFilterDraft(collection: Collection, filter: Filter | undefined): FilterDraft {
  const { data: schema } = useSchema();
  const fields = useMemo(() => buildFilterFields(collection, schema?.byName), [collection, schema]);
  const initialModel = useMemo(() => toFilterModel(filter, fields), [filter, fields]);
  const [edited, setEdited] = useState<{ readonly group: FilterGroup } | { readonly json: string } | null>(null);
  const [isChecked, setChecked] = useState(false);
  const current = edited ?? (initialModel ? { group: initialModel } : { json: JSON.stringify(filter, null, 2) });
  const json = 'json' in current ? current.json : null;
  const group = 'group' in current ? current.group : emptyGroup;
  const parsed = json === null ? null : parseFilterJson(json);
  const parsedModel = parsed && toFilterModel(parsed, fields);
  const parse = (): Filter | undefined | null => {
    setChecked(true);
    if (json === null && !hasValidOperands(group, fields)) return null;
    const result = json === null ? (toFilter(group, fields) ?? {}) : parsed;
    return result !== null && Object.keys(result).length === 0 ? undefined : result;
  };
  const toggle = (): void => {
    if (json === null) setEdited({ json: JSON.stringify(toFilter(group, fields) ?? {}, null, 2) });
    else if (parsedModel) setEdited({ group: parsedModel });
  };
  return {
    fields,
    group,
    change: (next) => setEdited({ group: next }),
    json,
    setJson: (text) => setEdited({ json: text }),
    toggle,
    isTooComplex: parsed !== null && parsedModel === null,
    parse,
    isChecked,
    parseComplete: () => {
      const result = parse();
      return json === null && !isComplete(group, fields) ? null : result;
    },
    clear: () => setEdited({ group: newGroup() }),
  };
}

const emptyGroup = newGroup();

export function parseFilterJson(text: string): Filter | null {
  try {
    const parsedJson: unknown = JSON.parse(text);
    return typeof parsedJson === 'object' && parsedJson !== null && !Array.isArray(parsedJson)
      ? (parsedJson as Filter)
      : null;
  } catch {
    return null;
  }
}
