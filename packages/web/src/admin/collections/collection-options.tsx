import { Checkbox, SimpleGrid } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';

/** The options of a collection that can be switched on and off. */
export const optionNames = ['timestamps', 'authors', 'paranoid', 'logging'] as const;
export type CollectionOptions = Readonly<Record<(typeof optionNames)[number], boolean>>;

interface OptionCheckboxesProps {
  readonly options: CollectionOptions;
  readonly change: (options: CollectionOptions) => void;
}

export function OptionCheckboxes({ options, change }: OptionCheckboxesProps): ReactNode {
  const t = useTexts().data.definition;
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xs">
      {optionNames.map((name) => (
        <Checkbox
          key={name}
          label={t.optionNames[name]}
          checked={options[name]}
          onChange={(event) => change({ ...options, [name]: event.currentTarget.checked })}
        />
      ))}
    </SimpleGrid>
  );
}
