import { Button, Checkbox, Group, Popover, ScrollArea, Stack } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getTitle } from '../../data/field-names.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { type ColumnChoice, listColumnFields } from './columns.ts';

/** The menu that selects the columns of a grid and their order. */
export function ColumnMenu({
  collection,
  choice,
  change,
}: {
  collection: Collection;
  choice: ColumnChoice;
  change: (choice: ColumnChoice) => void;
}): ReactNode {
  const t = useTexts().data.records;
  const fields = listColumnFields(collection);
  const sortPosition = (name: string): number =>
    choice.shown.includes(name) ? choice.shown.indexOf(name) : choice.shown.length + 1;
  const sorted = [...fields].sort((a, b) => sortPosition(a.name) - sortPosition(b.name));
  const toggle = (name: string): void => {
    const nextShown = choice.shown.includes(name)
      ? choice.shown.filter((each) => each !== name)
      : [...choice.shown, name];
    if (nextShown.length > 0) change({ ...choice, shown: nextShown });
  };
  const move = (name: string, offset: number): void => {
    const from = choice.shown.indexOf(name);
    const to = from + offset;
    if (from < 0 || to < 0 || to >= choice.shown.length) return;
    const without = choice.shown.toSpliced(from, 1);
    change({ ...choice, shown: without.toSpliced(to, 0, name) });
  };
  return (
    <Popover position="bottom-start" shadow="md" width={320} trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<Icon name="columns" />}>
          {t.columns}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t.columns} p="xs">
        <ScrollArea.Autosize mah={380} type="auto">
          <Stack gap={2}>
            {sorted.map((field) => {
              const isShown = choice.shown.includes(field.name);
              return (
                <Group key={field.name} justify="space-between" wrap="nowrap">
                  <Checkbox
                    label={getTitle(field)}
                    checked={isShown}
                    onChange={() => toggle(field.name)}
                    size="xs"
                    p={4}
                  />
                  {isShown && (
                    <Group gap={0} wrap="nowrap">
                      <IconButton
                        size="sm"
                        icon="arrowUp"
                        label={t.moveLeft(getTitle(field))}
                        onClick={() => move(field.name, -1)}
                      />
                      <IconButton
                        size="sm"
                        icon="arrowDown"
                        label={t.moveRight(getTitle(field))}
                        onClick={() => move(field.name, 1)}
                      />
                    </Group>
                  )}
                </Group>
              );
            })}
          </Stack>
        </ScrollArea.Autosize>
      </Popover.Dropdown>
    </Popover>
  );
}
