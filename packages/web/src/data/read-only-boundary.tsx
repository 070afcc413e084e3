import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import type { RequiredPermission } from './denied.tsx';
import classes from './read-only-boundary.module.css';
import { useSchema } from './schema.ts';

/** A form that is read-only for roles that may not submit it, with the reason. */
export function ReadOnlyBoundary({
  children,
  resource,
  action,
}: RequiredPermission & { children: ReactNode }): ReactNode {
  const t = useTexts().common.problem;
  const { data } = useSchema();
  const isReadOnly = data !== undefined && !data.may(resource, action);
  return (
    <fieldset className={classes.plain} disabled={isReadOnly}>
      {isReadOnly && (
        <Text size="sm" c="dimmed" mb="xs">
          {t.readOnly}
        </Text>
      )}
      {children}
    </fieldset>
  );
}
