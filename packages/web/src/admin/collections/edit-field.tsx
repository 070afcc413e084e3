import { type Collection, Failure, type Field } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { clientOf, useApplication } from '../../data/application.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { forget } from '../../data/queries.ts';
import type { Schema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { changesOf, draftOf, emptyDraft, fieldOf } from './field-draft.ts';
import { FieldForm } from './field-form.tsx';

interface EditFieldProps {
  readonly collection: Collection;
  /** Null for a new one. */
  readonly field: Field | null;
  readonly schema: Schema;
  readonly done: () => void;
}

/** A field that is added or changed. */
export function EditField({ collection, field, schema, done }: EditFieldProps): ReactNode {
  const t = useTexts();
  const application = useApplication();
  const [draft, setDraft] = useState(field ? draftOf(field) : emptyDraft);
  const save = useMutation({
    mutationFn: () => {
      const { collections } = clientOf(application);
      return field
        ? collections.updateField(collection.name, field.name, changesOf(field, draft))
        : collections.createField(collection.name, fieldOf(draft));
    },
    onSuccess: async () => {
      await forget(application);
      toast(t.data.definition.saved);
      done();
    },
  });
  return (
    <DialogForm write={save} act={field ? t.common.save : t.common.add} cancel={done}>
      <FieldForm
        draft={draft}
        change={setDraft}
        here={collection.name}
        collections={schema.collections}
        exists={field !== null}
        targets={schema.collections.map((each) => each.name)}
        problems={save.error instanceof Failure ? save.error.details : {}}
      />
    </DialogForm>
  );
}
