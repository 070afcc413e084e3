import { Button, Group, Modal, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { DialogForm } from '../../data/dialog-form.tsx';
import { Section } from '../../data/section.tsx';
import { getErrorDetails, useActionMutation, useApiMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { type InboxTexts, useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { toast } from '../../ui/toasts.tsx';
import { getFolderKey } from '../folders/folder-key.ts';
import { sortFolders } from '../folders/folder-pane.tsx';
import type { Mailbox } from '../mail-types.ts';
import type { MailRights } from '../rights.ts';
import { type AccountRecord, accountKeys } from './account-data.ts';

interface FoldersSectionProps {
  readonly account: AccountRecord;
  readonly rights: MailRights;
}

/** The folders of an account. They can be created, renamed, and deleted while they are empty. */
export function FoldersSection({ account, rights }: FoldersSectionProps): ReactNode {
  const texts = useTexts();
  const inboxTexts = useInboxTexts();
  const t = inboxTexts.accounts.folders;
  /** The folder in the dialog; null while the dialog is closed. */
  const [editedFolder, setEditedFolder] = useState<Mailbox | 'new' | null>(null);
  const destroy = useActionMutation<unknown, Mailbox>({
    write: (client, { id }) => client.records('mailboxes').destroy(id),
    changes: accountKeys,
    done: () => toast(t.destroyed),
  });
  const confirmDestroy = async (mailbox: Mailbox): Promise<void> => {
    const text = t.destroyText(mailbox.path);
    if (await confirm({ title: t.destroyTitle, text, confirmLabel: texts.common.destroy, danger: true }))
      await destroy(mailbox);
  };
  const add = rights.addFolders && (
    <Button variant="default" leftSection={<Icon name="plus" />} onClick={() => setEditedFolder('new')}>
      {t.add}
    </Button>
  );
  return (
    <Section title={t.title} text={rights.destroyFolders && t.text} actions={add}>
      {account.mailboxes.length === 0 ? (
        <Text c="dimmed">{t.none}</Text>
      ) : (
        <ListTable<Mailbox>
          label={t.title}
          rows={sortFolders(account.mailboxes)}
          keyOf={({ id }) => id}
          columns={[
            { title: t.path, render: (mailbox) => <LongText>{formatFolderName(mailbox, inboxTexts)}</LongText> },
            { title: t.messages, number: true, render: ({ messages }) => texts.common.count(messages) },
            { title: t.unread, number: true, render: ({ unread }) => texts.common.count(unread) },
            {
              title: '',
              width: 90,
              render: (mailbox) => (
                <FolderButtons
                  mailbox={mailbox}
                  rename={rights.changeFolders ? () => setEditedFolder(mailbox) : null}
                  destroy={rights.destroyFolders ? () => void confirmDestroy(mailbox) : null}
                />
              ),
            },
          ]}
        />
      )}
      <Modal
        opened={editedFolder !== null}
        onClose={() => setEditedFolder(null)}
        title={editedFolder === 'new' ? t.add : t.renameTitle}
        size="sm"
      >
        {editedFolder !== null && (
          <FolderForm
            account={account.id}
            mailbox={editedFolder === 'new' ? null : editedFolder}
            done={() => setEditedFolder(null)}
          />
        )}
      </Modal>
    </Section>
  );
}

/** Such as `Sent (INBOX.Sent)`; only the path if the folder has no special role. */
function formatFolderName(mailbox: Mailbox, texts: InboxTexts): string {
  const name = texts.folderName(getFolderKey(mailbox));
  return name === mailbox.path ? name : `${name} (${mailbox.path})`;
}

interface FolderButtonsProps {
  readonly mailbox: Mailbox;
  /** Null where the role does not allow it. */
  readonly rename: (() => void) | null;
  readonly destroy: (() => void) | null;
}

/** Only empty folders can be deleted. */
function FolderButtons({ mailbox, rename, destroy }: FolderButtonsProps): ReactNode {
  const t = useInboxTexts().accounts.folders;
  const { path, messages } = mailbox;
  return (
    <Group gap={2} wrap="nowrap" justify="flex-end">
      {rename && <IconButton icon="edit" size="md" label={t.rename(path)} onClick={rename} />}
      {destroy && (
        <IconButton icon="trash" size="md" label={t.destroy(path)} disabled={messages > 0} onClick={destroy} />
      )}
    </Group>
  );
}

interface FolderFormProps {
  readonly account: number;
  /** Null for a new one. */
  readonly mailbox: Mailbox | null;
  readonly done: () => void;
}

function FolderForm({ account, mailbox, done }: FolderFormProps): ReactNode {
  const texts = useTexts();
  const inboxTexts = useInboxTexts();
  const t = inboxTexts.accounts.folders;
  const [path, setPath] = useState(mailbox?.path ?? '');
  const save = useApiMutation({
    write: (client) => {
      const mailboxes = client.records('mailboxes');
      const values = { path: path.trim() };
      return mailbox ? mailboxes.update(mailbox.id, values) : mailboxes.create({ ...values, accountId: account });
    },
    changes: accountKeys,
    done: () => {
      toast(mailbox ? t.renamed : t.created);
      done();
    },
  });
  return (
    <DialogForm write={save} submitLabel={mailbox ? texts.common.rename : texts.common.create} cancel={done}>
      <TextInput
        label={t.path}
        description={t.pathHint}
        value={path}
        onChange={(event) => setPath(event.currentTarget.value)}
        error={getErrorDetails(save.error)['path']}
        maxLength={1000}
        autoComplete="off"
        data-autofocus
        required
      />
    </DialogForm>
  );
}
