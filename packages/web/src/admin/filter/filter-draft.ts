/** A filter while it is written: as groups of conditions, or as the API's own JSON. */
import type { Collection, Filter } from '@tablinum/client';
import { useMemo, useState } from 'react';
import { useSchema } from '../../data/schema.ts';
import { type FilterFields, filterFields } from './filter-fields.ts';
import { type FilterGroup, filterOf, isFinished, isReadable, modelOf, newGroup } from './filter-model.ts';

export interface FilterDraft {
  readonly fields: FilterFields;
  readonly group: FilterGroup;
  readonly change: (group: FilterGroup) => void;
  /** The text of the API's own form; null while it is written as conditions. */
  readonly json: string | null;
  readonly setJson: (json: string) => void;
  readonly toggle: () => void;
  /** What was given, or is written as JSON, has no form as conditions. */
  readonly tooRich: boolean;
  /** It was to be applied: values that the server would refuse are marked. */
  readonly isChecked: boolean;
  /** The filter; undefined for none, null where the JSON is none or a value would be refused. */
  readonly read: () => Filter | undefined | null;
  /** As {@link read}; null also while a condition is not finished. For rules, which a condition less would widen. */
  readonly readWhole: () => Filter | undefined | null;
  readonly clear: () => void;
}

/** What stands for a collection while there is none: no field to choose. */
export const noCollection: Collection = { name: '', title: null, description: null, fields: [], options: {} };

/** @param filter what it begins with; it is shown as conditions once the fields that it names are known. */
export function useFilterDraft(collection: Collection, filter: Filter | undefined): FilterDraft {
  const { data: schema } = useSchema();
  const fields = useMemo(() => filterFields(collection, schema?.byName), [collection, schema]);
  const given = useMemo(() => modelOf(filter, fields), [filter, fields]);
  const [written, setWritten] = useState<{ readonly group: FilterGroup } | { readonly json: string } | null>(null);
  const [isChecked, setChecked] = useState(false);
  const now = written ?? (given ? { group: given } : { json: JSON.stringify(filter, null, 2) });
  const json = 'json' in now ? now.json : null;
  const group = 'group' in now ? now.group : none;
  const parsed = json === null ? null : parsedFilter(json);
  const shown = parsed && modelOf(parsed, fields);
  const read = (): Filter | undefined | null => {
    setChecked(true);
    if (json === null && !isReadable(group, fields)) return null;
    const asked = json === null ? (filterOf(group, fields) ?? {}) : parsed;
    return asked !== null && Object.keys(asked).length === 0 ? undefined : asked;
  };
  const toggle = (): void => {
    if (json === null) setWritten({ json: JSON.stringify(filterOf(group, fields) ?? {}, null, 2) });
    else if (shown) setWritten({ group: shown });
  };
  return {
    fields,
    group,
    change: (next) => setWritten({ group: next }),
    json,
    setJson: (text) => setWritten({ json: text }),
    toggle,
    tooRich: parsed !== null && shown === null,
    read,
    isChecked,
    readWhole: () => {
      const asked = read();
      return json === null && !isFinished(group, fields) ? null : asked;
    },
    clear: () => setWritten({ group: newGroup() }),
  };
}

const none = newGroup();

export function parsedFilter(text: string): Filter | null {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === 'object' && read !== null && !Array.isArray(read) ? (read as Filter) : null;
  } catch {
    return null;
  }
}
