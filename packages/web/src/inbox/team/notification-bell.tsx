/** What the server reports to the user: mentions, assignments, and conversations that have returned. */
import { ActionIcon, Button, Indicator, Popover, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Client } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { invalidate, useApiQuery } from '../../data/queries.ts';
import { useRealtimeEvents } from '../../data/realtime-events.ts';
import { useMay } from '../../data/schema.ts';
import { type InboxTexts, useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { toast } from '../../ui/toasts.tsx';
import { PushSettings, usePush, usePushClicks } from '../notifications/push-settings.tsx';
import { formatFullTime, formatShortTime } from '../times.ts';
import classes from './notification-bell.module.css';
import { useMemberName } from './team-data.ts';
import type { MailNotification } from './team-types.ts';

const key = 'mail-notifications';
const pageSize = 30;

/** @param open opens a conversation. */
export function NotificationBell({ open }: { open: (conversation: number) => void }): ReactNode {
  const may = useMay();
  // Also before the permissions are known: a click that opened the page may report its conversation at once.
  usePushClicks(open);
  return may('mailNotifications', 'list') && <Bell open={open} />;
}

function Bell({ open }: { open: (conversation: number) => void }): ReactNode {
  const t = useInboxTexts().team.notifications;
  const application = useApplication();
  const [opened, { close, toggle }] = useDisclosure(false);
  const push = usePush();
  const { data = [] } = useApiQuery([key], readNotifications, { staleTime: 60_000 });
  const unread = data.filter(({ read }) => !read);
  const refresh = (): void => void invalidate(application, key);
  useRealtimeEvents(
    'mailNotifications',
    ({ name, tk }) => {
      refresh();
      if (name === 'mailNotifications.created') void announce(application, Number(tk), t, choose);
    },
    refresh,
  );
  const markRead = async (rows: readonly MailNotification[]): Promise<void> => {
    const ids = rows.filter(({ read }) => !read).map(({ id }) => id);
    try {
      if (ids.length > 0)
        await getClient(application).post('mailNotifications:update', { read: true }, { filterByTk: ids });
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
    refresh();
  };
  function choose(notification: MailNotification): void {
    close();
    open(notification.conversationId);
    void markRead([notification]);
  }
  const label = unread.length > 0 ? `${t.title}, ${t.unread(unread.length)}` : t.title;
  return (
    <Popover opened={opened} onChange={(next) => !next && close()} position="bottom-end" width={340} trapFocus>
      <Indicator disabled={unread.length === 0} label={unread.length} size={16} offset={6} color="red.8">
        <Popover.Target>
          <ActionIcon variant="subtle" color="gray" size="lg" aria-label={label} title={t.title} onClick={toggle}>
            <Icon name="bell" size={18} />
          </ActionIcon>
        </Popover.Target>
      </Indicator>
      <Popover.Dropdown p={0} aria-label={t.title}>
        <div className={classes.head}>
          <h2>{t.title}</h2>
          <Button
            size="compact-sm"
            variant="subtle"
            disabled={unread.length === 0}
            onClick={() => void markRead(unread)}
          >
            {t.readAll}
          </Button>
        </div>
        {data.length === 0 && <p className={classes.empty}>{t.empty}</p>}
        <ul className={classes.list}>
          {data.map((each) => (
            <li key={each.id}>
              <Entry notification={each} choose={() => choose(each)} />
            </li>
          ))}
        </ul>
        {push && (
          <div className={classes.settings}>
            <PushSettings {...push} />
          </div>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

function Entry({ notification, choose }: { notification: MailNotification; choose: () => void }): ReactNode {
  const t = useInboxTexts();
  const getName = useMemberName(notification.conversation?.accountId ?? 0);
  return (
    <UnstyledButton className={classes.entry} data-unread={!notification.read || undefined} onClick={choose}>
      <span className={classes.what}>
        {describe(notification, t.team.notifications, getName(notification.actorId))}
      </span>
      <span className={classes.subject} dir="auto">
        {notification.conversation?.subject || t.noSubject}
      </span>
      <time dateTime={notification.at} title={formatFullTime(notification.at)}>
        {formatShortTime(notification.at)}
      </time>
    </UnstyledButton>
  );
}

function describe({ kind }: MailNotification, t: InboxTexts['team']['notifications'], who: string): string {
  return kind === 'mention' || kind === 'assignment' ? t[kind](who) : t[kind];
}

async function readNotifications(client: Client): Promise<readonly MailNotification[]> {
  const query = { sort: '-id', pageSize, appends: ['conversation'] };
  return (await client.call<readonly MailNotification[]>('mailNotifications:list', { query })).data;
}

/** Shows a new notification as a toast, which opens its conversation. */
async function announce(
  application: string,
  id: number,
  t: InboxTexts['team']['notifications'],
  choose: (notification: MailNotification) => void,
): Promise<void> {
  const client = getClient(application);
  try {
    const query = { filterByTk: id, appends: ['conversation'] };
    const { data } = await client.call<MailNotification>('mailNotifications:get', { query });
    const members = data.conversation ? await client.mailAccounts.members(data.conversation.accountId) : [];
    const who = members.find((member) => member.id === data.actorId)?.name ?? '';
    const subject = data.conversation?.subject;
    const text = `${describe(data, t, who)}${subject ? `: ${subject}` : '.'}`;
    toast(text, { action: { label: t.open, run: () => choose(data) } });
  } catch {
    // It was destroyed meanwhile, or cannot be read now: the list shows it.
  }
}
