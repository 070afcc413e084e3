import { Button, Group, Modal, Radio, Stack, Text } from '@mantine/core';
import type { Field, RecordValues } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { getTitle } from '../../data/field-names.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { CellValue } from '../records/cell-value.tsx';

interface ConflictChoicesProps {
  readonly fields: readonly Field[];
  /** The record with the edits of this page, and as somebody else saved it. */
  readonly mine: RecordValues;
  readonly theirs: RecordValues;
  /** @param theirs the fields in which the other side's value is kept. */
  readonly save: (theirs: readonly Field[]) => void;
  /** Returns to the form without a change. */
  readonly back: () => void;
}

type Side = 'mine' | 'theirs';

/**
 * Shows both values of every field that two people changed. The user chooses one for each field before anything is
 * saved.
 */
export function ConflictChoices({ fields, mine, theirs, save, back }: ConflictChoicesProps): ReactNode {
  const t = useTexts().data.record.conflict;
  const [sides, setSides] = useState<Readonly<Record<string, Side>>>({});
  const all = (side: Side): void => setSides(Object.fromEntries(fields.map(({ name }) => [name, side])));
  const ready = fields.every(({ name }) => sides[name] !== undefined);
  return (
    <Modal opened onClose={back} title={t.title} size="lg">
      <Stack>
        <Text size="sm">{t.text}</Text>
        <Group gap="xs">
          <Button size="compact-sm" variant="default" onClick={() => all('mine')}>
            {t.allMine}
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => all('theirs')}>
            {t.allTheirs}
          </Button>
        </Group>
        {fields.map((field) => (
          <Radio.Group
            key={field.name}
            label={getTitle(field)}
            value={sides[field.name] ?? null}
            onChange={(side) => setSides({ ...sides, [field.name]: side as Side })}
          >
            <Stack gap={4} mt={4}>
              <Radio value="mine" label={<Side text={t.mine} field={field} values={mine} />} />
              <Radio value="theirs" label={<Side text={t.theirs} field={field} values={theirs} />} />
            </Stack>
          </Radio.Group>
        ))}
        <Group justify="flex-end">
          <Button variant="default" onClick={back}>
            {t.back}
          </Button>
          <Button disabled={!ready} onClick={() => save(fields.filter(({ name }) => sides[name] === 'theirs'))}>
            {t.save}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function Side({ text, field, values }: { text: string; field: Field; values: RecordValues }): ReactNode {
  return (
    <>
      {text}: <CellValue field={field} values={values} whole />
    </>
  );
}
