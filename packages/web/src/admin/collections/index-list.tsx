import { Button, Checkbox, Group, MultiSelect, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';

/** An index over several fields while it is edited. */
export interface IndexDraft {
  readonly id: number;
  readonly fields: readonly string[];
  readonly unique: boolean;
}

type IndexDefinitions = readonly { readonly fields: readonly string[]; readonly unique?: boolean }[];

export function createIndexDrafts(definitions: IndexDefinitions = []): readonly IndexDraft[] {
  return definitions.map(({ fields, unique = false }, id) => ({ id, fields, unique }));
}

/** The indexes in the format of the API, without those that have no fields. */
export function toIndexes(drafts: readonly IndexDraft[]): IndexDefinitions {
  return drafts.filter(({ fields }) => fields.length > 0).map(({ fields, unique }) => ({ fields, unique }));
}

interface IndexListProps {
  readonly indexes: readonly IndexDraft[];
  readonly change: (indexes: readonly IndexDraft[]) => void;
  /** Names of the available fields. */
  readonly fields: readonly string[];
  readonly error?: string | undefined;
}

/**
 * Edits indexes over several fields. The order of the fields matters; a unique index allows each combination of values
 * once.
 */
export function IndexList({ indexes, change, fields, error }: IndexListProps): ReactNode {
  const t = useTexts().data.indexes;
  const set = (next: IndexDraft): void => change(indexes.map((each) => (each.id === next.id ? next : each)));
  const add = (): void => {
    const id = Math.max(-1, ...indexes.map((each) => each.id)) + 1;
    change([...indexes, { id, fields: [], unique: false }]);
  };
  return (
    <Stack gap="xs" component="section" aria-label={t.title}>
      <Text fw={500} size="sm">
        {t.title}
      </Text>
      <Text size="xs" c="dimmed">
        {t.hint}
      </Text>
      {indexes.map((index) => (
        <Group key={index.id} gap="xs" wrap="nowrap" align="center">
          <MultiSelect
            aria-label={t.fields}
            data={[...new Set([...fields, ...index.fields])]}
            value={[...index.fields]}
            onChange={(next) => set({ ...index, fields: next })}
            placeholder={index.fields.length === 0 ? t.fields : ''}
            maxValues={10}
            searchable
            flex={1}
          />
          <Checkbox
            label={t.unique}
            checked={index.unique}
            onChange={(event) => set({ ...index, unique: event.currentTarget.checked })}
          />
          <IconButton
            icon="x"
            label={t.remove}
            onClick={() => change(indexes.filter((each) => each.id !== index.id))}
          />
        </Group>
      ))}
      {error && (
        <Text size="xs" c="red" role="alert">
          {error}
        </Text>
      )}
      <Group>
        <Button size="compact-sm" variant="subtle" leftSection={<Icon name="plus" size={14} />} onClick={add}>
          {t.add}
        </Button>
      </Group>
    </Stack>
  );
}
