import { Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import { ShortcutKbd } from '../ui/kbd.tsx';
import classes from './key-help.module.css';

/** The dialog with the keyboard shortcuts of the inbox. */
export function KeyHelp({ opened, close }: { opened: boolean; close: () => void }): ReactNode {
  const { keyHelp } = useInboxTexts();
  return (
    <Modal opened={opened} onClose={close} title={keyHelp.title} size="md">
      <dl className={classes.keys}>
        {keyHelp.keys.map(([keys, meaning]) => (
          <div key={meaning}>
            <dt>{meaning}</dt>
            <dd>
              {keys.split(' ').map((key) => (
                <ShortcutKbd key={key} keys={key} />
              ))}
              <span className="visually-hidden">{keys}</span>
            </dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
