import { Alert, Button, Group, Text } from '@mantine/core';
import { Failure } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getTitle, getWriteName } from '../../data/field-names.ts';
import { getErrorMessage } from '../../data/problem.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useLeaveGuard } from '../record/use-leave-guard.ts';
import classes from './records-page.module.css';
import type { CellSaving } from './use-cell-saving.ts';
import { formatValue } from './value-text.ts';

/** Lists the cell edits that could not be saved, with their errors, and buttons to retry or discard them. */
export function UnsavedEdits({ saving }: { saving: CellSaving }): ReactNode {
  const t = useTexts().data.records.unsaved;
  const { unsaved, retry, discard } = saving;
  useLeaveGuard(unsaved.length > 0);
  if (unsaved.length === 0) return null;
  return (
    <Alert
      color="red"
      variant="light"
      role="alert"
      icon={<Icon name="warning" />}
      className={classes.unsaved}
      title={t.title(unsaved.length)}
    >
      {unsaved.map(({ id, row, field, value, error }) => (
        <Text key={id} size="sm">
          <b>{getTitle(field)}</b> ({row.key}): {formatValue(field, value) || t.empty}.{' '}
          {getEditError(error, getWriteName(field))}
        </Text>
      ))}
      <Group mt="xs">
        <Button size="compact-sm" variant="default" onClick={retry}>
          {t.retry}
        </Button>
        <Button size="compact-sm" variant="subtle" onClick={discard}>
          {t.discard}
        </Button>
      </Group>
    </Alert>
  );
}

/** The error of the field, or that of the request if the field has none. */
function getEditError(error: unknown, member: string): string {
  return error instanceof Failure ? (error.details[member] ?? error.message) : getErrorMessage(error);
}
