import { Modal } from '@mantine/core';
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Icon } from '../ui/icon.tsx';
import { folderOf } from './folders/folder-pane.tsx';
import type { Mailbox } from './mail.ts';
import classes from './move-picker.module.css';

interface MovePickerProps {
  readonly opened: boolean;
  readonly close: () => void;
  readonly mailboxes: readonly Mailbox[];
  readonly choose: (mailbox: Mailbox) => void;
}

/** Where to: typed, or chosen by arrows. */
export function MovePicker({ opened, close, mailboxes, choose }: MovePickerProps): ReactNode {
  const t = useTexts().inbox;
  return (
    <Modal opened={opened} onClose={close} title={t.moveTo} size="sm" yOffset="12vh" centered={false}>
      <Choice
        mailboxes={mailboxes}
        choose={(mailbox) => {
          close();
          choose(mailbox);
        }}
      />
    </Modal>
  );
}

function Choice({ mailboxes, choose }: Pick<MovePickerProps, 'mailboxes' | 'choose'>): ReactNode {
  const t = useTexts().inbox;
  const id = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const nameOf = (mailbox: Mailbox): string => t.folderName(folderOf(mailbox));
  const found = mailboxes.filter((each) => nameOf(each).toLowerCase().includes(text.toLowerCase()));
  const pressed = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setAt((found.length + at + step) % Math.max(found.length, 1));
    } else if (event.key === 'Enter' && found[at]) choose(found[at]);
  };
  return (
    <>
      <input
        data-autofocus
        className={classes.field}
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found[at] && `${id}-${at}`}
        aria-label={t.moveTo}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={pressed}
      />
      <div id={id} role="listbox" aria-label={t.folders} className={classes.list}>
        {found.map((mailbox, index) => (
          // The field keeps the focus: it hears the keys.
          // biome-ignore lint/a11y/useFocusableInteractive: see above
          // biome-ignore lint/a11y/useKeyWithClickEvents: see above
          <div
            key={mailbox.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            className={classes.entry}
            onMouseMove={() => setAt(index)}
            onClick={() => choose(mailbox)}
          >
            <Icon name="folder" />
            {nameOf(mailbox)}
          </div>
        ))}
      </div>
    </>
  );
}
