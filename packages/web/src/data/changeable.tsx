import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import classes from './changeable.module.css';
import type { AskedRight } from './denied.tsx';
import { useSchema } from './schema.ts';

/** A form for who may send it; others see what it holds, and read why it rests. */
export function Changeable({ children, resource, action }: AskedRight & { children: ReactNode }): ReactNode {
  const t = useTexts().common.problem;
  const { data } = useSchema();
  const rests = data !== undefined && !data.may(resource, action);
  return (
    <fieldset className={classes.plain} disabled={rests}>
      {rests && (
        <Text size="sm" c="dimmed" mb="xs">
          {t.readOnly}
        </Text>
      )}
      {children}
    </fieldset>
  );
}
