/** A filter while it is written: as groups of conditions, or as the API's own JSON. */
import type { Collection, Filter } from '@tablinum/client';
import { useMemo, useState } from 'react';
import { useSchema } from '../../data/schema.ts';
import { buildFilterFields, type FilterFields } from './filter-fields.ts';
import { type FilterGroup, hasValidOperands, isComplete, newGroup, toFilter, toFilterModel } from './filter-model.ts';

export interface FilterDraft {
  readonly fields: FilterFields;
  readonly group: FilterGroup;
  readonly change: (group: FilterGroup) => void;
  /** The text of the API's own form; null while it is written as conditions. */
  readonly json: string | null;
  readonly setJson: (json: string) => void;
  readonly toggle: () => void;
  /** What was given, or is written as JSON, has no form as conditions. */
  readonly isTooComplex: boolean;
  /** It was to be applied: values that the server would refuse are marked. */
  readonly isChecked: boolean;
  /** The filter; undefined for none, null where the JSON is none or a value would be refused. */
  readonly parse: () => Filter | undefined | null;
  /** As {@link parse}; null also while a condition is not finished. For rules, which a condition less would widen. */
  readonly parseComplete: () => Filter | undefined | null;
  readonly clear: () => void;
}

/** What stands for a collection while there is none: no field to choose. */
export const emptyCollection: Collection = { name: '', title: null, description: null, fields: [], options: {} };

/** @param filter what it begins with; it is shown as conditions once the fields that it names are known. */
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
