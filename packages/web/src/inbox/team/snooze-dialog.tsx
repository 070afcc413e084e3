import { Button, Modal, Stack, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { formatMoment } from '../times.ts';
import classes from './snooze-dialog.module.css';
import { listSnoozeChoices, toLocalInput } from './snooze-times.ts';

interface SnoozeDialogProps {
  readonly opened: boolean;
  readonly close: () => void;
  /** @param until ISO 8601. */
  readonly choose: (until: string) => void;
}

/** Chooses when a conversation returns: one of some usual times, or any other. */
export function SnoozeDialog({ opened, close, choose }: SnoozeDialogProps): ReactNode {
  const { snooze } = useInboxTexts().team;
  return (
    <Modal opened={opened} onClose={close} title={snooze.title} size="sm">
      <SnoozeChoices
        choose={(until) => {
          close();
          choose(until);
        }}
      />
    </Modal>
  );
}

function SnoozeChoices({ choose }: { choose: (until: string) => void }): ReactNode {
  const { snooze } = useInboxTexts().team;
  const [now] = useState(() => new Date());
  const choices = listSnoozeChoices(now);
  const [other, setOther] = useState(() => toLocalInput(choices.at(-1)?.until ?? now));
  const time = Date.parse(other);
  const isPast = !(time > Date.now());
  return (
    <Stack gap="xs" pt={4}>
      {choices.map(({ name, until }, index) => (
        <Button
          key={name}
          variant="default"
          justify="space-between"
          rightSection={<span className={classes.time}>{formatMoment(until.toISOString())}</span>}
          onClick={() => choose(until.toISOString())}
          {...(index === 0 && { 'data-autofocus': true })}
        >
          {snooze[name]}
        </Button>
      ))}
      <form
        className={classes.other}
        onSubmit={(event) => {
          event.preventDefault();
          if (!isPast) choose(new Date(time).toISOString());
        }}
      >
        <TextInput
          type="datetime-local"
          label={snooze.other}
          value={other}
          error={isPast && snooze.past}
          onChange={({ currentTarget }) => setOther(currentTarget.value)}
        />
        <Button type="submit" disabled={isPast}>
          {snooze.apply}
        </Button>
      </form>
    </Stack>
  );
}
