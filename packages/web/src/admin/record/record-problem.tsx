import { Alert, Stack, Text } from '@mantine/core';
import { Failure, type Field, type RecordValues } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getWriteName } from '../../data/field-names.ts';
import { FormProblem } from '../../data/problem.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';

/** The errors by property of the request body, without those of values that were changed since. */
export function listOpenProblems(
  error: unknown,
  submitted: RecordValues,
  changes: RecordValues,
): Record<string, string> {
  if (!(error instanceof Failure)) return {};
  return Object.fromEntries(
    Object.entries(error.details).filter(([errorPath]) => changes[errorPath] === submitted[errorPath]),
  );
}

interface RecordProblemProps {
  readonly error: Error | null;
  /** The result of {@link listOpenProblems}. */
  readonly problems: Readonly<Record<string, string>>;
  /** The fields of the form, which show their own errors. */
  readonly fields: readonly Field[];
}

/** Shown below the form: the number of invalid inputs, and the errors that no input shows. */
export function RecordProblem({ error, problems, fields }: RecordProblemProps): ReactNode {
  const t = useTexts().data.record;
  if (!(error instanceof Failure) || Object.keys(error.details).length === 0) return <FormProblem error={error} />;
  const formNames = new Set(fields.flatMap((field) => [field.name, getWriteName(field)]));
  const open = Object.entries(problems);
  const otherProblems = open.filter(([errorPath]) => !formNames.has(errorPath));
  if (open.length === 0) return null;
  return (
    <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />} title={t.notSaved}>
      <Stack gap={4}>
        {open.length > otherProblems.length && (
          <Text size="sm">{t.checkFields(open.length - otherProblems.length)}</Text>
        )}
        {otherProblems.map(([errorPath, text]) => (
          <Text size="sm" key={errorPath}>
            <b>{errorPath}</b> {text}
          </Text>
        ))}
      </Stack>
    </Alert>
  );
}
