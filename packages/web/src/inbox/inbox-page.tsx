/**
 * The inbox: folders, conversations, the open one. What is shown stands in the address; what arrives shows by itself.
 */
import { Button } from '@mantine/core';
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { clientOf } from '../data/application.tsx';
import { useLive } from '../data/live.ts';
import { Asked } from '../data/problem.tsx';
import { useScope } from '../data/queries.ts';
import { type Command, useCommands } from '../ui/commands.ts';
import { confirm } from '../ui/confirm.tsx';
import { useTexts } from '../ui/i18n/texts.tsx';
import { ButtonLink } from '../ui/links.tsx';
import { Page } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { toast } from '../ui/toasts.tsx';
import { MailActions } from './actions/mail-actions.ts';
import { Composer } from './compose/composer.tsx';
import type { Beginning } from './compose/draft-session.ts';
import { expectThread, useAccounts, useOpenThread } from './data-mail.ts';
import { FolderPane } from './folders/folder-pane.tsx';
import classes from './inbox-page.module.css';
import { type InboxSearch, inboxSearch, type Shown } from './inbox-search.ts';
import { KeyHelp } from './key-help.tsx';
import { useKeys } from './keys.ts';
import { ListBar } from './list/list-bar.tsx';
import { ListPane } from './list/list-pane.tsx';
import type { Account, Conversation } from './mail.ts';
import { MovePicker } from './move-picker.tsx';
import { PageActions } from './page-actions.tsx';
import { ThreadPane } from './thread/thread-pane.tsx';
import { useConversationList } from './use-conversation-list.ts';
import { useSelection } from './use-selection.ts';

export function InboxPage(): ReactNode {
  const t = useTexts().inbox;
  const [application] = useScope();
  const accounts = useAccounts();
  return (
    <Asked query={accounts} asked={{ resource: 'accounts', action: 'list' }}>
      {(all) =>
        all.length === 0 ? (
          <Page title={t.title}>
            <Empty icon="inbox" title={t.empty.noAccount} text={t.empty.noAccountText}>
              <ButtonLink to="/a/$app/docs" params={{ app: application }}>
                {t.empty.toReference}
              </ButtonLink>
            </Empty>
          </Page>
        ) : (
          <Inbox accounts={all} />
        )
      }
    </Asked>
  );
}

function Inbox({ accounts }: { accounts: readonly Account[] }): ReactNode {
  const texts = useTexts();
  const t = texts.inbox;
  const scope = useScope();
  const [application] = scope;
  const navigate = useNavigate();
  const address = inboxSearch(useSearch({ strict: false }));
  const { c: opened = null, ...shown } = address;
  const go = (next: InboxSearch, replace = false): void =>
    void navigate({ to: '/a/$app/inbox', params: { app: application }, search: next, replace });
  const { list, state } = useConversationList(shown);
  const selection = useSelection(state.rows);
  const [cursor, setCursor] = useState<number | null>(opened);
  const [helping, help] = useDisclosure(false);
  const [moving, move] = useDisclosure(false);
  const searchField = useRef<HTMLInputElement>(null);
  const narrow = useMediaQuery('(max-width: 62em)', matchMedia('(max-width: 62em)').matches);
  const folder = folderShown(shown);
  const actions = useMemo(
    () => new MailActions({ client: clientOf(application), application, list, folder, texts: texts.inbox }),
    [application, list, folder, texts],
  );
  const mailboxes = accounts.flatMap((each) => each.mailboxes);
  useCampaigns();
  const [writing, setWriting] = useState<Beginning | null>(null);
  const stopWriting = (): void => setWriting(null);
  list.held = writing && 'conversation' in writing ? writing.conversation : null;
  const lastEmail = useOpenThread(opened)?.emails.findLast(({ draft }) => !draft)?.id;
  const answer = (kind: 'reply' | 'replyAll' | 'forward'): void => {
    if (opened !== null && lastEmail !== undefined) setWriting({ kind, email: lastEmail, conversation: opened });
  };
  const compose = (): void => {
    const accountId = shown.account ?? accounts[0]!.id;
    setWriting({ kind: 'new', accountId });
  };
  const writeAgain = (beginning: Beginning): void => {
    setWriting(beginning);
    if ('conversation' in beginning) go({ ...shown, c: beginning.conversation });
  };
  const composer = writing && (
    <Composer key={JSON.stringify(writing)} beginning={writing} done={stopWriting} again={writeAgain} />
  );
  const inThread = writing !== null && 'conversation' in writing && writing.conversation === opened;

  useEffect(() => {
    if (opened !== null) setCursor(opened);
  }, [opened]);

  const show = (next: Shown): void => {
    selection.clear();
    setCursor(null);
    go(next);
  };
  const open = (id: number): void => {
    setCursor(id);
    go({ ...shown, c: id }, opened !== null);
    const at = state.rows.findIndex((row) => row.id === id);
    const next = state.rows[at + 1];
    if (next) expectThread(scope, next.id);
  };
  const close = (): void => go(shown);

  /** What a command is about: those chosen, else the one at the cursor. */
  const targets = (): Conversation[] => {
    if (selection.ids.size > 0) return state.rows.filter(({ id }) => selection.ids.has(id));
    const row = state.rows.find(({ id }) => id === (opened ?? cursor));
    return row ? [row] : [];
  };
  const step = (by: number): void => {
    const at = state.rows.findIndex(({ id }) => id === cursor);
    const next = state.rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), state.rows.length - 1)];
    if (!next) return;
    setCursor(next.id);
    if (opened !== null) open(next.id);
    else {
      expectThread(scope, next.id);
      requestAnimationFrame(() => focusRow(next.id));
    }
  };
  /** Before rows leave the list: the next one takes their place at the cursor. */
  const stepOver = (rows: readonly Conversation[]): void => {
    const gone = new Set(rows.map(({ id }) => id));
    const at = state.rows.findIndex(({ id }) => gone.has(id));
    const stays = (row: Conversation): boolean => !gone.has(row.id);
    const next = state.rows.slice(at).find(stays) ?? state.rows.slice(0, Math.max(at, 0)).findLast(stays);
    selection.clear();
    setCursor(next?.id ?? null);
    if (opened !== null && gone.has(opened)) go(next && !narrow ? { ...shown, c: next.id } : shown, true);
  };
  const away = (act: (rows: readonly Conversation[]) => void): void => {
    const rows = targets();
    if (rows.length === 0) return;
    stepOver(rows);
    act(rows);
  };
  const trash = async (): Promise<void> => {
    const rows = targets();
    if (rows.length === 0) return;
    if (folder !== 'trash') return away((each) => actions.trash(each));
    const asked = {
      title: t.destroy.title,
      text: t.destroy.text(rows.length),
      act: texts.common.destroy,
      danger: true,
    };
    if (!(await confirm(asked))) return;
    stepOver(rows);
    await actions.destroy(rows);
  };
  const archive = (): void => away((rows) => actions.archive(rows, mailboxes));
  const toggleRead = (): void => {
    const rows = targets();
    const read = selection.ids.size > 0 || opened === null ? rows.some(({ unread }) => unread > 0) : false;
    void actions.setRead(rows, read);
    if (!read && opened !== null && selection.ids.size === 0) close();
  };
  const toggleStar = (rows: readonly Conversation[] = targets()): void =>
    void actions.setStarred(rows, !rows.every(({ starred }) => starred > 0));
  const back = (): void => {
    if (selection.ids.size > 0) selection.clear();
    else if (opened !== null) {
      close();
      if (cursor !== null) requestAnimationFrame(() => focusRow(cursor));
    }
  };
  const select = (): void => {
    const id = opened ?? cursor;
    if (id !== null) selection.toggle(id);
  };
  const openCursor = (): void => {
    if (cursor !== null) open(cursor);
  };
  const search = (): void => searchField.current?.focus();

  useKeys({
    j: () => step(1),
    k: () => step(-1),
    Enter: openCursor,
    o: openCursor,
    u: toggleRead,
    s: () => toggleStar(),
    e: archive,
    '#': () => void trash(),
    Delete: () => void trash(),
    m: move.open,
    c: compose,
    r: () => answer('reply'),
    a: () => answer('replyAll'),
    f: () => answer('forward'),
    x: select,
    z: () => actions.undo(),
    '/': search,
    '?': help.open,
    Escape: back,
  });
  const latest = useRef({ archive, trash, toggleRead, toggleStar, search, answer, compose });
  latest.current = { archive, trash, toggleRead, toggleStar, search, answer, compose };
  const commands = useMemo((): readonly Command[] => {
    const { commands: says } = t;
    return [
      { id: 'compose', label: says.compose, icon: 'edit', keys: 'c', run: () => latest.current.compose() },
      { id: 'reply', label: says.reply, icon: 'reply', keys: 'r', run: () => latest.current.answer('reply') },
      {
        id: 'replyAll',
        label: says.replyAll,
        icon: 'replyAll',
        keys: 'a',
        run: () => latest.current.answer('replyAll'),
      },
      { id: 'forward', label: says.forward, icon: 'forward', keys: 'f', run: () => latest.current.answer('forward') },
      { id: 'archive', label: says.archive, icon: 'archive', keys: 'e', run: () => latest.current.archive() },
      { id: 'trash', label: says.trash, icon: 'trash', keys: '#', run: () => void latest.current.trash() },
      { id: 'unread', label: says.unread, icon: 'mail', keys: 'u', run: () => latest.current.toggleRead() },
      { id: 'star', label: says.star, icon: 'star', keys: 's', run: () => latest.current.toggleStar() },
      { id: 'move', label: says.move, icon: 'folder', keys: 'm', run: move.open },
      { id: 'search', label: says.search, icon: 'search', keys: '/', run: () => setTimeout(latest.current.search, 50) },
      { id: 'keys', label: says.help, icon: 'info', keys: '?', run: help.open },
    ];
  }, [t, move.open, help.open]);
  useCommands(commands);

  const filtered = shown.q !== undefined || shown.unread || shown.starred;
  const threadShown = opened !== null;
  const rowActions = useRef({ open, select: selection.toggle, star: toggleStar });
  rowActions.current = { open, select: selection.toggle, star: toggleStar };
  const [stable] = useState(() => ({
    open: (id: number) => rowActions.current.open(id),
    select: (id: number, range: boolean) => rowActions.current.select(id, range),
    star: (row: Conversation) => rowActions.current.star([row]),
  }));
  return (
    <Page
      filled
      title={shown.starred && folder === null ? t.starred : t.folderName(shown.folder ?? 'inbox')}
      actions={
        <PageActions
          shown={shown}
          show={show}
          accounts={accounts}
          narrow={narrow}
          searchField={searchField}
          help={help.open}
          compose={compose}
        />
      }
    >
      <div className={classes.panes} data-thread={threadShown || undefined}>
        {!narrow && (
          <aside className={classes.folders}>
            <FolderPane accounts={accounts} shown={shown} show={show} />
          </aside>
        )}
        {(!narrow || !threadShown) && (
          <section className={classes.list} aria-label={t.conversations}>
            <ListBar
              selection={selection}
              loaded={state.rows.length}
              shown={shown}
              show={show}
              archive={archive}
              trash={() => void trash()}
              move={move.open}
              read={() => void actions.setRead(targets(), true)}
              unread={() => void actions.setRead(targets(), false)}
              star={() => toggleStar()}
            />
            <ListPane
              key={JSON.stringify(shown)}
              list={list}
              state={state}
              ownOf={({ accountId }) => accounts.find(({ id }) => id === accountId)?.address ?? ''}
              hrefOf={(c) => hrefOf(application, { ...shown, c })}
              cursor={cursor}
              selected={selection.ids}
              {...stable}
              empty={
                filtered
                  ? {
                      title: t.empty.filtered,
                      text: t.empty.filteredText,
                      step: (
                        <Button variant="default" onClick={() => show({})}>
                          {t.empty.takeAway}
                        </Button>
                      ),
                    }
                  : { title: t.empty.folder, text: t.empty.folderText }
              }
            />
          </section>
        )}
        {(!narrow || threadShown) && (
          <div className={classes.thread}>
            {threadShown ? (
              <ThreadPane
                key={opened}
                id={opened}
                actions={actions}
                writing={inThread}
                writeOn={(email) => setWriting({ kind: 'draft', email: email.id, conversation: opened })}
                below={() => inThread && composer}
                commands={{
                  close: back,
                  archive,
                  trash: () => void trash(),
                  move: move.open,
                  unread: toggleRead,
                  reply: () => answer('reply'),
                  replyAll: () => answer('replyAll'),
                  forward: () => answer('forward'),
                  next: () => step(1),
                  previous: () => step(-1),
                }}
              />
            ) : (
              <Empty icon="mail" title={t.empty.choose} text={t.empty.chooseText} />
            )}
          </div>
        )}
      </div>
      {writing !== null && !inThread && <div className={classes.docked}>{composer}</div>}
      <KeyHelp opened={helping} close={help.close} />
      <MovePicker
        opened={moving}
        close={move.close}
        mailboxes={mailboxesFor(targets(), accounts)}
        choose={(mailbox) => away((rows) => actions.move(rows, mailbox))}
      />
    </Page>
  );
}

/** The one folder that is shown, or null where several are. */
function folderShown({ folder = 'inbox', q }: Shown): string | null {
  return folder === 'any' || (q !== undefined && /(^|\s)-?in:/.test(q)) ? null : folder;
}

function hrefOf(application: string, search: InboxSearch): string {
  const pairs = Object.entries(search).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `/a/${application}/inbox?${pairs.join('&')}`;
}

/** Mail stays in its account. */
function mailboxesFor(rows: readonly Conversation[], accounts: readonly Account[]): Account['mailboxes'] {
  const ids = new Set(rows.map(({ accountId }) => accountId));
  return accounts.filter(({ id }) => ids.size === 1 && ids.has(id)).flatMap(({ mailboxes }) => mailboxes);
}

function focusRow(id: number): void {
  document.querySelector<HTMLElement>(`[data-conversation="${id}"] a`)?.focus({ preventScroll: true });
}

/** What campaigns do is told as it happens, to roles that may hear it. */
function useCampaigns(): void {
  const { activity } = useTexts().inbox;
  const told = ({ name }: { readonly name: string }): void => toast(activity(name));
  useLive('campaign', told, () => {});
}
