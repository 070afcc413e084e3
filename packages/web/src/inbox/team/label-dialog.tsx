import { Badge, Button, Checkbox, Group, Modal, Stack, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useLabels } from './label-data.ts';
import { getLabelColor, type LabelChange } from './labels.ts';

/** Labels that were used in this tab, which are offered for other conversations. */
const usedLabels = new Set<string>();
const maxOffered = 50;
const maxLength = 200;

interface LabelDialogProps {
  readonly opened: boolean;
  readonly close: () => void;
  /** The labels of the conversations. */
  readonly present: readonly string[];
  readonly apply: (change: LabelChange) => void;
}

/** Adds labels to conversations and removes them. */
export function LabelDialog({ opened, close, present, apply }: LabelDialogProps): ReactNode {
  const t = useInboxTexts().team.labels;
  return (
    <Modal opened={opened} onClose={close} title={t.title} size="xs">
      <LabelChoices
        present={present}
        apply={(change) => {
          close();
          if (change.add.length + change.remove.length > 0) apply(change);
        }}
      />
    </Modal>
  );
}

function LabelChoices({ present, apply }: Pick<LabelDialogProps, 'present' | 'apply'>): ReactNode {
  const t = useInboxTexts().team.labels;
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(present));
  const existing = useLabels();
  const [typed, setTyped] = useState('');
  const offered = [...new Set([...present, ...chosen, ...usedLabels, ...existing.map(({ label }) => label)])].slice(
    0,
    maxOffered,
  );
  const name = typed.trim();
  const isValid = name.length <= maxLength && !name.startsWith('\\');
  const toggle = (label: string): void => {
    const next = new Set(chosen);
    if (!next.delete(label)) next.add(label);
    setChosen(next);
  };
  const submit = (): void => {
    if (!isValid) return;
    const wanted = name === '' ? chosen : new Set([...chosen, name]);
    for (const label of wanted) usedLabels.add(label);
    apply({
      add: [...wanted].filter((label) => !present.includes(label)),
      remove: present.filter((label) => !wanted.has(label)),
    });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Stack gap="sm">
        {offered.map((label) => (
          <Checkbox
            key={label}
            checked={chosen.has(label)}
            onChange={() => toggle(label)}
            label={<LabelChip label={label} />}
          />
        ))}
        <TextInput
          data-autofocus
          label={t.add}
          value={typed}
          maxLength={maxLength}
          error={!isValid && t.invalid}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
        <Group justify="flex-end">
          <Button type="submit" disabled={!isValid}>
            {t.apply}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** A label in its colour. */
export function LabelChip({ label }: { label: string }): ReactNode {
  return (
    <Badge variant="light" color={getLabelColor(label)} tt="none" maw="16rem" c="var(--mantine-color-text)">
      {label}
    </Badge>
  );
}
