import { useMemo } from 'react';
import { getClient } from '../data/application.tsx';
import { useScope } from '../data/queries.ts';
import { confirm } from '../ui/confirm.tsx';
import { useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import { useTexts } from '../ui/i18n/texts.tsx';
import { MailActions } from './actions/mail-actions.ts';
import { getSingleFolder } from './inbox-search.ts';
import type { ConversationList } from './list/conversation-list.ts';
import type { Account, Conversation, Mailbox } from './mail-types.ts';
import type { Cursor } from './use-cursor.ts';
import type { InboxAddress } from './use-inbox-address.ts';
import type { Selection } from './use-selection.ts';

/** The commands of keys, buttons and the palette on the selected conversations, else on the one at the cursor. */
export interface MailCommands {
  readonly actions: MailActions;
  archive(rows?: readonly Conversation[]): void;
  /** Moves to the trash; in the trash, deletes permanently after a confirmation. */
  trash(): void;
  moveTo(mailbox: Mailbox): void;
  toggleRead(): void;
  setRead(read: boolean): void;
  toggleStar(rows?: readonly Conversation[]): void;
}

interface CommandOptions {
  readonly list: ConversationList;
  readonly accounts: readonly Account[];
  readonly address: InboxAddress;
  readonly selection: Selection;
  readonly cursor: Cursor;
}

export function useMailCommands({ list, accounts, address, selection, cursor }: CommandOptions): MailCommands {
  const texts = useTexts();
  const inboxTexts = useInboxTexts();
  const [application] = useScope();
  const folder = getSingleFolder(address.view);
  const actions = useMemo(
    () => new MailActions({ client: getClient(application), application, list, folder, texts: inboxTexts }),
    [application, list, folder, inboxTexts],
  );
  /** Moves the cursor to the next conversation, then runs the action. */
  const removeTargets = (
    action: (rows: readonly Conversation[]) => void,
    rows: readonly Conversation[] = cursor.targets(),
  ): void => {
    if (rows.length === 0) return;
    cursor.skip(rows);
    action(rows);
  };
  const destroy = async (): Promise<void> => {
    const { title, text } = inboxTexts.destroy;
    const count = cursor.targets().length;
    const question = { title, text: text(count), confirmLabel: texts.common.destroy, danger: true };
    if (count > 0 && (await confirm(question))) removeTargets((rows) => void actions.destroy(rows));
  };
  return {
    actions,
    archive: (targets = cursor.targets()) =>
      removeTargets(
        (rows) =>
          actions.archive(
            rows,
            accounts.flatMap(({ mailboxes }) => mailboxes),
          ),
        targets,
      ),
    trash: () => (folder === 'trash' ? void destroy() : removeTargets((rows) => actions.trash(rows))),
    moveTo: (mailbox) => removeTargets((rows) => actions.move(rows, mailbox)),
    setRead: (read) => void actions.setRead(cursor.targets(), read),
    toggleRead: () => {
      const rows = cursor.targets();
      // In an open conversation, the command always marks it unread.
      const isReading = selection.ids.size === 0 && address.opened !== null;
      const markRead = !isReading && rows.some(({ unread }) => unread > 0);
      void actions.setRead(rows, markRead);
      if (isReading) address.open(null);
    },
    toggleStar: (rows = cursor.targets()) => void actions.setStarred(rows, !rows.every(({ starred }) => starred > 0)),
  };
}
