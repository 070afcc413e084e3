import { Group } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useCheck } from '../../data/queries.ts';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import classes from './composer.module.css';
import { resumeWaiting, useWaitingCount } from './outgoing-messages.ts';

/** Says how many messages wait for the connection; nothing if none does. */
export function OutgoingLine(): ReactNode {
  const t = useComposeTexts();
  const application = useApplication();
  const { data: check } = useCheck();
  const writer = check?.id ?? null;
  const count = useWaitingCount(application, writer);
  useEffect(() => {
    if (writer !== null) resumeWaiting(application, writer);
  }, [application, writer]);
  if (count === 0) return null;
  return (
    <Group className={classes.waiting!} gap="xs" role="status">
      <Icon name="offline" />
      {t.waiting(count)}
    </Group>
  );
}
