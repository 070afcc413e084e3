import { Button, Menu } from '@mantine/core';
import type { ReactNode } from 'react';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { followUpDays } from './follow-up-times.ts';

interface FollowUpMenuProps {
  readonly disabled: boolean;
  /** Days after which the user is reminded; null: never. */
  readonly value: number | null;
  readonly change: (days: number | null) => void;
}

/** Chooses when the user is reminded of the conversation if nobody answers. */
export function FollowUpMenu({ disabled, value, change }: FollowUpMenuProps): ReactNode {
  const t = useComposeTexts().followUp;
  return (
    <Menu position="top-start" withinPortal withInitialFocusPlaceholder={false}>
      <Menu.Target>
        {value === null ? (
          <IconButton icon="bell" label={t.title} disabled={disabled} />
        ) : (
          <Button
            variant="light"
            size="compact-sm"
            leftSection={<Icon name="bell" />}
            aria-label={t.chosen(value)}
            title={t.chosen(value)}
            disabled={disabled}
          >
            {t.days(value)}
          </Button>
        )}
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t.title}</Menu.Label>
        {followUpDays.map((days) => (
          <Menu.Item key={days} onClick={() => change(days)}>
            {t.within(days)}
          </Menu.Item>
        ))}
        {value !== null && <Menu.Item onClick={() => change(null)}>{t.never}</Menu.Item>}
      </Menu.Dropdown>
    </Menu>
  );
}
