import { Button, Group, Stack } from '@mantine/core';
import type { Collection, Filter } from '@tablinum/client';
import type { FormEvent, ReactNode } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { useFilterDraft } from './filter-draft.ts';
import { FilterEditor } from './filter-editor.tsx';

interface FilterBuilderProps {
  readonly collection: Collection;
  readonly filter: Filter | undefined;
  readonly apply: (filter: Filter | undefined) => void;
}

/** The filter of a list. It is applied with a button. */
export function FilterBuilder({ collection, filter, apply }: FilterBuilderProps): ReactNode {
  const t = useTexts().data.records.filterBuilder;
  const draft = useFilterDraft(collection, filter);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const nextFilter = draft.parse();
    if (nextFilter !== null) apply(nextFilter);
  };
  const clear = (): void => {
    draft.clear();
    apply(undefined);
  };
  return (
    <form onSubmit={submit} aria-label={t.title}>
      <Stack gap="sm">
        <FilterEditor draft={draft}>
          <Group gap="xs">
            <Button variant="default" onClick={clear}>
              {t.clear}
            </Button>
            <Button type="submit">{t.apply}</Button>
          </Group>
        </FilterEditor>
      </Stack>
    </form>
  );
}
