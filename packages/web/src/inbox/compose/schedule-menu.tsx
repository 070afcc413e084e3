import { Button, Group, Menu, Modal, Stack, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { formatDateTime } from '../../ui/date-time.tsx';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { parseLocalTime, suggestTimes, toLocalText } from './send-times.ts';

interface ScheduleMenuProps {
  readonly disabled: boolean;
  /** Sends the message at a time, ISO 8601. */
  readonly send: (sendAt: string) => void;
}

/** Sends a message later: at a suggested time, or at a chosen one. */
export function ScheduleMenu({ disabled, send }: ScheduleMenuProps): ReactNode {
  const t = useComposeTexts().schedule;
  const [isChoosing, setChoosing] = useState(false);
  const suggestions = suggestTimes(new Date());
  return (
    <>
      <Menu position="top-start" withinPortal withInitialFocusPlaceholder={false}>
        <Menu.Target>
          <IconButton icon="clock" label={t.title} disabled={disabled} />
        </Menu.Target>
        <Menu.Dropdown>
          {suggestions.map(({ name, at }) => (
            <Menu.Item key={name} onClick={() => send(at.toISOString())}>
              {t[name]} · {formatDateTime(at.toISOString(), true)}
            </Menu.Item>
          ))}
          <Menu.Item onClick={() => setChoosing(true)}>{t.choose}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={isChoosing} onClose={() => setChoosing(false)} title={t.title} size="sm">
        <TimeForm
          initial={suggestions[0]!.at}
          cancel={() => setChoosing(false)}
          choose={(at) => {
            setChoosing(false);
            send(at);
          }}
        />
      </Modal>
    </>
  );
}

interface TimeFormProps {
  readonly initial: Date;
  readonly cancel: () => void;
  readonly choose: (at: string) => void;
}

function TimeForm({ initial, cancel, choose }: TimeFormProps): ReactNode {
  const t = useComposeTexts().schedule;
  const common = useTexts().common;
  const [text, setText] = useState(toLocalText(initial));
  const problem = parseLocalTime(text, Date.now());
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    if (typeof problem !== 'string') choose(problem.toISOString());
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          type="datetime-local"
          label={t.time}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          error={typeof problem === 'string' && t.problems[problem]}
          data-autofocus
          required
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={cancel}>
            {common.cancel}
          </Button>
          <Button type="submit" disabled={typeof problem === 'string'}>
            {t.send}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
