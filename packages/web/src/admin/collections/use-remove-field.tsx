import { Text } from '@mantine/core';
import type { Collection, Field } from '@tablinum/client';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { invalidate } from '../../data/queries.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { ImpactReport } from './impact.tsx';

/** Deletes a field after a confirmation that lists what is deleted with it. */
export function useRemoveField(collection: Collection): (field: Field) => Promise<void> {
  const t = useTexts();
  const application = useApplication();
  return async (field) => {
    const { collections } = getClient(application);
    try {
      const impact = await collections.previewDestroyField(collection.name, field.name);
      const title = t.data.definition.destroyFieldTitle(field.name);
      const { foreignKey, target } = field;
      const isKeyInTarget = field.type === 'hasMany' || field.type === 'hasOne';
      const text = (
        <>
          <ImpactReport impact={impact} />
          {isKeyInTarget && foreignKey && target && (
            <Text size="sm">{t.data.relation.keyStays(foreignKey, target)}</Text>
          )}
        </>
      );
      if (!(await confirm({ title, text, confirmLabel: t.common.destroy, danger: true }))) return;
      await collections.destroyField(collection.name, field.name);
      await invalidate(application);
      toast(t.data.definition.fieldRemoved(field.name));
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
}
