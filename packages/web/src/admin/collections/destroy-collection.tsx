import { Button, Paper, Text, Title } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { getErrorMessage } from '../../data/problem.tsx';
import { invalidate } from '../../data/queries.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { ImpactReport } from './impact.tsx';

/** Deletes a collection after a confirmation that lists what is deleted with it. */
export function DestroyCollection({ collection }: { collection: Collection }): ReactNode {
  const t = useTexts();
  const application = useApplication();
  const navigate = useNavigate();
  const destroy = async (): Promise<void> => {
    const { collections } = getClient(application);
    try {
      const impact = await collections.previewDestroy(collection.name, true);
      const title = t.data.definition.destroyTitle(getTitle(collection));
      const text = <ImpactReport impact={impact} />;
      if (!(await confirm({ title, text, confirmLabel: t.common.destroy, typed: collection.name, danger: true })))
        return;
      await collections.destroy(collection.name, true);
      await navigate({ to: '/a/$app/data', params: { app: application } });
      await invalidate(application);
      toast(t.data.definition.destroyed(getTitle(collection)));
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
  return (
    <Paper withBorder p="md" component="section">
      <Title order={2}>{t.data.definition.danger}</Title>
      <Text c="dimmed" mb="sm">
        {t.data.definition.dangerText}
      </Text>
      <Button variant="light" color="red" onClick={() => void destroy()}>
        {t.data.definition.dangerButton}
      </Button>
    </Paper>
  );
}
