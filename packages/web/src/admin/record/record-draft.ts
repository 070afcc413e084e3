/** What was changed of a record and not yet saved. */
import type { RecordValues } from '@tablinum/client';
import { type Dispatch, type SetStateAction, useState } from 'react';
import { Unreadable } from '../records/field-input.tsx';

export interface RecordDraft {
  /** By member of the body. */
  readonly changes: RecordValues;
  /** The records that were chosen, by relation: their names are shown. */
  readonly linked: Readonly<Record<string, RecordValues | null>>;
}

export type ChangeField = (
  name: string,
  value: unknown,
  relation?: { readonly name: string; readonly record: RecordValues | null },
) => void;

export const unchanged: RecordDraft = { changes: {}, linked: {} };

export function useRecordDraft(): readonly [RecordDraft, ChangeField, Dispatch<SetStateAction<RecordDraft>>] {
  const [draft, setDraft] = useState(unchanged);
  const change: ChangeField = (name, value, relation) =>
    setDraft(({ changes, linked }) => ({
      changes: { ...changes, [name]: value },
      linked: relation ? { ...linked, [relation.name]: relation.record } : linked,
    }));
  return [draft, change, setDraft];
}

/** Whether every text stands for a value of its field. */
export function isReadable({ changes }: RecordDraft): boolean {
  return !Object.values(changes).some((value) => value instanceof Unreadable);
}

/** A draft without the changes that are saved. */
export function without({ changes, linked }: RecordDraft, sent: RecordValues): RecordDraft {
  return {
    changes: Object.fromEntries(Object.entries(changes).filter(([name, value]) => sent[name] !== value)),
    linked,
  };
}
