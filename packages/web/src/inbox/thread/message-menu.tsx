import { ActionIcon, Button, Menu, Modal } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage, QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { toast } from '../../ui/toasts.tsx';
import type { Email } from '../mail-types.ts';
import { getName } from '../people.ts';
import { readListUnsubscribe } from './list-headers.ts';
import classes from './message-menu.module.css';

interface MessageMenuProps {
  readonly email: Email;
  /** Whether the role may act on the message. */
  readonly mayChange: boolean;
}

/** Further commands of a message: its headers, its raw form, and leaving its mailing list. */
export function MessageMenu({ email, mayChange }: MessageMenuProps): ReactNode {
  const t = useInboxTexts().reading;
  const [shown, setShown] = useState<'headers' | 'raw' | null>(null);
  const close = (): void => setShown(null);
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" size="md" aria-label={t.more} title={t.more}>
            <Icon name="dots" size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {mayChange && <UnsubscribeItem email={email} />}
          {email.headers && <Menu.Item onClick={() => setShown('headers')}>{t.headers}</Menu.Item>}
          <Menu.Item onClick={() => setShown('raw')}>{t.raw}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={shown === 'headers'} onClose={close} title={t.headersTitle} size="xl">
        <dl className={classes.headers}>
          {(email.headers ?? []).map(([name, value], index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the headers of a message never change
            <div key={index}>
              <dt>{name}</dt>
              <dd dir="auto">{value}</dd>
            </div>
          ))}
        </dl>
      </Modal>
      <Modal opened={shown === 'raw'} onClose={close} title={t.rawTitle} size="xl">
        <RawMessage id={email.id} />
      </Modal>
    </>
  );
}

function UnsubscribeItem({ email }: { email: Email }): ReactNode {
  const t = useInboxTexts().reading;
  const application = useApplication();
  const offered = readListUnsubscribe(email.headers ?? []);
  if (offered === null || email.outgoing) return null;
  const list = getName(email.from?.[0]) || '';
  const leave = async (): Promise<void> => {
    const question = { title: t.unsubscribeTitle(list), text: t.unsubscribeText, confirmLabel: t.unsubscribe };
    if (!(await confirm(question))) return;
    try {
      await getClient(application).emails.unsubscribe(email.id);
      toast(t.unsubscribed(list));
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
  if (offered.isOneClick) return <Menu.Item onClick={() => void leave()}>{t.unsubscribe}</Menu.Item>;
  return (
    <Menu.Item component="a" href={offered.page ?? ''} target="_blank" rel="noopener noreferrer">
      {t.unsubscribeLink}
    </Menu.Item>
  );
}

/** Characters of a raw message that are shown. */
const maxShown = 200_000;

function RawMessage({ id }: { id: number }): ReactNode {
  const t = useInboxTexts().reading;
  const raw = useApiQuery(['mail-raw', id], async (client) => {
    const bytes = await (await client.emails.raw(id)).blob();
    return { bytes, text: await bytes.slice(0, maxShown).text() };
  });
  return (
    <QueryBoundary query={raw} permission={{ resource: 'emails', action: 'get' }}>
      {({ bytes, text }) => (
        <>
          <Button
            variant="default"
            size="compact-md"
            mb="sm"
            leftSection={<Icon name="download" />}
            onClick={() => saveFile(bytes, `${id}.eml`)}
          >
            {t.save}
          </Button>
          {bytes.size > maxShown && <p>{t.rawShortened(formatSize(maxShown), formatSize(bytes.size))}</p>}
          <textarea className={classes.raw} aria-label={t.rawTitle} value={text} rows={24} readOnly />
        </>
      )}
    </QueryBoundary>
  );
}

function formatSize(size: number): string {
  return `${Math.ceil(size / 1000).toLocaleString('en')} kB`;
}
