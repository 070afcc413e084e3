import {
  type Collection,
  Failure,
  type Field,
  type Key,
  type RecordValues,
  type RecordWithEtag,
} from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { type Dispatch, type SetStateAction, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { invalidate } from '../../data/queries.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type RecordDraft, removeSavedChanges } from './record-draft.ts';
import { acceptTheirs, findConflictingFields, type StaleDraft } from './record-merge.ts';

interface RecordSavingOptions {
  readonly collection: Collection;
  readonly id: Key;
  readonly fields: readonly Field[];
  /** The record as it was when the edit began. */
  readonly base: RecordWithEtag<RecordValues>;
  readonly setBase: (base: RecordWithEtag<RecordValues> | null) => void;
  readonly draft: RecordDraft;
  readonly setDraft: Dispatch<SetStateAction<RecordDraft>>;
  /** Reads the record again. */
  readonly reload: () => Promise<RecordWithEtag<RecordValues> | undefined>;
}

interface RecordSaving {
  readonly save: () => void;
  readonly saving: boolean;
  readonly error: Error | null;
  /** The values that were sent when it failed. */
  readonly submitted: RecordValues;
  readonly reset: () => void;
  /** The fields that somebody else changed too; null if there are none. */
  readonly stale: StaleDraft | null;
  /** Saves with the values of the other side in these fields. */
  readonly resolve: (theirs: readonly Field[]) => void;
  readonly back: () => void;
}

interface Attempt {
  readonly draft: RecordDraft;
  readonly base: RecordWithEtag<RecordValues>;
}

/**
 * Saves the draft of a record under the version that it began with. If somebody else has changed other fields, the
 * draft is saved over the newer version. If both have changed the same field, the user chooses a value for each of
 * these fields.
 */
export function useRecordSaving(options: RecordSavingOptions): RecordSaving {
  const { collection, id, fields, base, setBase, draft, setDraft, reload } = options;
  const t = useTexts().data.record;
  const app = useApplication();
  const records = getClient(app).records(collection.name);
  const [stale, setStale] = useState<StaleDraft | null>(null);

  /** @returns false if the user must resolve a conflict first. */
  const send = async (attempt: Attempt): Promise<boolean> => {
    const version = attempt.base.etag === null ? {} : { ifMatch: attempt.base.etag };
    try {
      await records.update(id, attempt.draft.changes, {}, version);
      return true;
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'VERSION_STALE') throw error;
      const theirs = await reload();
      if (!theirs || theirs.etag === attempt.base.etag) throw error;
      const conflicts = findConflictingFields(fields, attempt.draft, attempt.base.data, theirs.data);
      if (conflicts.length === 0) return send({ draft: attempt.draft, base: theirs });
      setStale({ theirs, fields: conflicts });
      return false;
    }
  };

  const save = useMutation({
    mutationFn: send,
    onSuccess: async (done, attempt) => {
      if (!done) return;
      await invalidate(app, 'record', collection.name, String(id));
      await invalidate(app, 'history', collection.name);
      setBase(null);
      setDraft((now) => removeSavedChanges(now, attempt.draft.changes));
      toast(t.saved);
    },
  });

  const resolve = (chosen: readonly Field[]): void => {
    if (!stale) return;
    const next = acceptTheirs(draft, chosen);
    setStale(null);
    setDraft(next);
    setBase(stale.theirs);
    if (Object.keys(next.changes).length > 0) save.mutate({ draft: next, base: stale.theirs });
  };

  return {
    save: () => save.mutate({ draft, base }),
    saving: save.isPending,
    error: save.error,
    submitted: save.variables?.draft.changes ?? {},
    reset: save.reset,
    stale,
    resolve,
    back: () => setStale(null),
  };
}
