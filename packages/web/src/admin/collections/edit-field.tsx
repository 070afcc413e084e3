import { type Collection, Failure, type Field } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { invalidate } from '../../data/queries.ts';
import type { Schema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { createFieldDraft, diffField, emptyDraft, toField } from './field-draft.ts';
import { FieldForm } from './field-form.tsx';

interface EditFieldProps {
  readonly collection: Collection;
  /** Null for a new one. */
  readonly field: Field | null;
  readonly schema: Schema;
  readonly done: () => void;
}

/** The form that adds or changes a field. */
export function EditField({ collection, field, schema, done }: EditFieldProps): ReactNode {
  const t = useTexts();
  const application = useApplication();
  const [draft, setDraft] = useState(field ? createFieldDraft(field) : emptyDraft);
  const save = useMutation({
    mutationFn: () => {
      const { collections } = getClient(application);
      return field
        ? collections.updateField(collection.name, field.name, diffField(field, draft))
        : collections.createField(collection.name, toField(draft));
    },
    onSuccess: async () => {
      await invalidate(application);
      toast(t.data.definition.saved);
      done();
    },
  });
  return (
    <DialogForm write={save} submitLabel={field ? t.common.save : t.common.add} cancel={done}>
      <FieldForm
        draft={draft}
        change={setDraft}
        collectionName={collection.name}
        collections={schema.collections}
        exists={field !== null}
        targets={schema.collections.map((each) => each.name)}
        problems={save.error instanceof Failure ? save.error.details : {}}
      />
    </DialogForm>
  );
}
