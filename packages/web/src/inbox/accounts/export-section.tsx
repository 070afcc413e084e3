import { Button, Group, Select, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { Section } from '../../data/section.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { formatSize } from '../../ui/size-text.ts';
import { toast } from '../../ui/toasts.tsx';
import { getFolderKey } from '../folders/folder-key.ts';
import type { AccountRecord } from './account-data.ts';

/** Exports the mail of an account or of one folder as a file. */
export function ExportSection({ account }: { account: AccountRecord }): ReactNode {
  const texts = useInboxTexts();
  const t = texts.accounts.export;
  const application = useApplication();
  const [folder, setFolder] = useState<string | null>(null);
  /** Bytes received so far; null while no export is running. */
  const [received, setReceived] = useState<number | null>(null);
  const start = async (): Promise<void> => {
    setReceived(0);
    try {
      const query = { account: account.id, ...(folder !== null && { mailbox: folder }) };
      const response = await getClient(application).send('emails:export', { query });
      const pieces: Uint8Array<ArrayBuffer>[] = [];
      let size = 0;
      for (const reader = response.body!.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        pieces.push(value);
        size += value.length;
        setReceived(size);
      }
      saveFile(new Blob(pieces, { type: 'application/mbox' }), `${account.address}.mbox`);
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
    setReceived(null);
  };
  return (
    <Section title={t.title} text={t.text}>
      <Group align="flex-end" gap="sm">
        <Select
          label={t.folder}
          data={account.mailboxes.map(({ path, role }) => ({
            value: path,
            label: texts.folderName(getFolderKey({ path, role })),
          }))}
          value={folder}
          onChange={setFolder}
          placeholder={t.all}
          clearable
          w={220}
        />
        <Button
          variant="default"
          leftSection={<Icon name="arrowDown" />}
          onClick={() => void start()}
          loading={received !== null}
        >
          {t.start}
        </Button>
        {received !== null && (
          <Text size="sm" role="status">
            {t.working(formatSize(received))}
          </Text>
        )}
      </Group>
    </Section>
  );
}
