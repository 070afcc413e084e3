/** The unsaved changes of a record. */
import type { RecordValues } from '@tablinum/client';
import { type Dispatch, type SetStateAction, useState } from 'react';
import { UnfinishedUpload } from '../files/file-values.ts';
import { InvalidInput } from '../records/invalid-input.ts';

export interface RecordDraft {
  /** By property of the request body. */
  readonly changes: RecordValues;
  /** The chosen records by relation, so that their labels can be shown. */
  readonly linked: Readonly<Record<string, RecordValues | null>>;
}

export type ChangeField = (
  name: string,
  value: unknown,
  relation?: { readonly name: string; readonly record: RecordValues | null },
) => void;

export const emptyRecordDraft: RecordDraft = { changes: {}, linked: {} };

export function useRecordDraft(): readonly [RecordDraft, ChangeField, Dispatch<SetStateAction<RecordDraft>>] {
  const [draft, setDraft] = useState(emptyRecordDraft);
  const change: ChangeField = (name, value, relation) =>
    setDraft(({ changes, linked }) => ({
      changes: { ...changes, [name]: value },
      linked: relation ? { ...linked, [relation.name]: relation.record } : linked,
    }));
  return [draft, change, setDraft];
}

/** Whether every text is a valid value of its field. */
export function isValidDraft({ changes }: RecordDraft): boolean {
  return !Object.values(changes).some((value) => value instanceof InvalidInput);
}

/** Whether files of the draft are being uploaded. */
export function hasUnfinishedUploads({ changes }: RecordDraft): boolean {
  return Object.values(changes).some((value) => value instanceof UnfinishedUpload);
}

/** The draft without the changes that were saved. */
export function removeSavedChanges({ changes, linked }: RecordDraft, saved: RecordValues): RecordDraft {
  return {
    changes: Object.fromEntries(Object.entries(changes).filter(([name, value]) => saved[name] !== value)),
    linked,
  };
}
