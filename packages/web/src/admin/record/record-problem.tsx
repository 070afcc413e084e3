import { Alert, Stack, Text } from '@mantine/core';
import { Failure, type Field, type RecordValues } from '@tablinum/client';
import type { ReactNode } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { writtenName } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';

/** What was refused, by member of the body, without what has been changed since. */
export function openProblems(error: unknown, sent: RecordValues, changes: RecordValues): Record<string, string> {
  if (!(error instanceof Failure)) return {};
  return Object.fromEntries(Object.entries(error.details).filter(([place]) => changes[place] === sent[place]));
}

interface RecordProblemProps {
  readonly error: Error | null;
  /** Those of {@link openProblems}. */
  readonly problems: Readonly<Record<string, string>>;
  /** The fields of the form: what is wrong with them stands beside them. */
  readonly fields: readonly Field[];
}

/** Below the inputs of a record: how many of them need a correction, and what no input shows. */
export function RecordProblem({ error, problems, fields }: RecordProblemProps): ReactNode {
  const t = useTexts().data.record;
  if (!(error instanceof Failure) || Object.keys(error.details).length === 0) return <FormProblem error={error} />;
  const shown = new Set(fields.flatMap((field) => [field.name, writtenName(field)]));
  const open = Object.entries(problems);
  const elsewhere = open.filter(([place]) => !shown.has(place));
  if (open.length === 0) return null;
  return (
    <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />} title={t.notSaved}>
      <Stack gap={4}>
        {open.length > elsewhere.length && <Text size="sm">{t.checkFields(open.length - elsewhere.length)}</Text>}
        {elsewhere.map(([place, text]) => (
          <Text size="sm" key={place}>
            <b>{place}</b> {text}
          </Text>
        ))}
      </Stack>
    </Alert>
  );
}
