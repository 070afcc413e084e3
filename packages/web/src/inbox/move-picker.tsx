import { Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import { ChoiceList } from '../ui/choice-list.tsx';
import { useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import { getFolderKey } from './folders/folder-key.ts';
import type { Mailbox } from './mail-types.ts';

interface MovePickerProps {
  readonly opened: boolean;
  readonly close: () => void;
  readonly mailboxes: readonly Mailbox[];
  readonly choose: (mailbox: Mailbox) => void;
}

/** Selects the folder to move to. The outbox is not offered, because messages only get there by sending. */
export function MovePicker({ opened, close, mailboxes, choose }: MovePickerProps): ReactNode {
  const t = useInboxTexts();
  const choices = mailboxes
    .filter(({ role }) => role !== 'outbox' && role !== 'drafts')
    .map((mailbox) => ({
      key: String(mailbox.id),
      label: t.folderName(getFolderKey(mailbox)),
      icon: 'folder' as const,
      mailbox,
    }));
  return (
    <Modal
      opened={opened}
      onClose={close}
      withCloseButton={false}
      padding={0}
      size="sm"
      yOffset="12vh"
      centered={false}
      attributes={{ content: { 'aria-label': t.moveTo } }}
    >
      <ChoiceList
        label={t.moveTo}
        placeholder={t.moveTo}
        listLabel={t.folders}
        findChoices={(typed) => choices.filter(({ label }) => label.toLowerCase().includes(typed.toLowerCase()))}
        choose={({ mailbox }) => {
          close();
          choose(mailbox);
        }}
        empty={t.noFolder}
      />
    </Modal>
  );
}
