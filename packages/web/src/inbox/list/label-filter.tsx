import { Button, Menu } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import type { InboxView } from '../inbox-search.ts';
import { useLabels } from '../team/label-data.ts';
import { LabelChip } from '../team/label-dialog.tsx';

interface LabelFilterProps {
  readonly view: InboxView;
  readonly setView: (view: InboxView) => void;
}

/** Restricts the list to conversations with a label. Without labels in use there is nothing to choose. */
export function LabelFilter({ view, setView }: LabelFilterProps): ReactNode {
  const t = useInboxTexts().team.labels;
  const labels = useLabels();
  const { label: current, ...remaining } = view;
  if (labels.length === 0 && current === undefined) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          size="compact-sm"
          radius="xl"
          fw={500}
          maw="10rem"
          variant={current === undefined ? 'subtle' : 'light'}
          {...(current === undefined && { color: 'gray' })}
          leftSection={<Icon name="tag" size={13} />}
          aria-label={current === undefined ? t.filter : t.filtered(current)}
        >
          {current ?? t.one}
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah="20rem" style={{ overflow: 'auto' }}>
        {current !== undefined && <Menu.Item onClick={() => setView(remaining)}>{t.any}</Menu.Item>}
        {labels.map(({ label }) => (
          <Menu.Item key={label} onClick={() => setView({ ...remaining, label })}>
            <LabelChip label={label} />
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
