import type { ReactNode } from 'react';
import { ChoiceList } from '../ui/choice-list.tsx';
import { ChoiceModal } from '../ui/choice-modal.tsx';
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
    <ChoiceModal opened={opened} close={close} label={t.moveTo} size="sm">
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
    </ChoiceModal>
  );
}
