import { UnstyledButton } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useMay } from '../../data/schema.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { TextLink } from '../../ui/links.tsx';
import { type InboxView, isSearchOfAll } from '../inbox-search.ts';
import type { Account, Mailbox } from '../mail-types.ts';
import { isSameView, useDeleteSearch, useSavedSearches } from '../search/saved-searches.ts';
import { LabelViews } from '../team/label-views.tsx';
import { getLabelColor } from '../team/labels.ts';
import { TeamViews } from '../team/team-views.tsx';
import { getFolderKey } from './folder-key.ts';
import classes from './folder-pane.module.css';

interface FolderPaneProps {
  readonly accounts: readonly Account[];
  readonly view: InboxView;
  readonly setView: (view: InboxView) => void;
}

const icons: Readonly<Record<string, IconName>> = {
  inbox: 'inbox',
  sent: 'send',
  drafts: 'edit',
  archive: 'archive',
  junk: 'warning',
  trash: 'trash',
  all: 'mail',
  outbox: 'clock',
};
const roleOrder = ['inbox', 'drafts', 'outbox', 'sent', 'archive', 'junk', 'trash', 'all'];

/** The list of views over all accounts, and of the folders of each account. */
export function FolderPane({ accounts, view, setView }: FolderPaneProps): ReactNode {
  const t = useInboxTexts();
  const app = useApplication();
  const { account, folder = 'inbox', starred, state, assignee, label } = view;
  const isPlain = state === undefined && assignee === undefined && label === undefined && !isSearchOfAll(view);
  const isAllAccounts = account === undefined && isPlain;
  const unread = accounts
    .flatMap(({ mailboxes }) => mailboxes.filter(({ role }) => role === 'inbox'))
    .reduce((sum, each) => sum + each.unread, 0);
  return (
    <nav className={classes.pane} aria-label={t.folders}>
      <Entry
        icon="inbox"
        label={accounts.length > 1 ? t.views.allInboxes : t.views.inbox}
        count={unread}
        current={isAllAccounts && folder === 'inbox'}
        go={() => setView({})}
      />
      <Entry
        icon="star"
        label={t.views.starred}
        current={isAllAccounts && folder === 'any' && !!starred}
        go={() => setView({ folder: 'any', starred: true })}
      />
      <Entry
        icon="mail"
        label={t.views.all}
        current={isAllAccounts && folder === 'any' && !starred}
        go={() => setView({ folder: 'any' })}
      />
      <SavedSearchEntries view={view} setView={setView} />
      <TeamViews
        accounts={accounts}
        render={(entries, title) => (
          <div className={classes.account}>
            <h2 className={classes.address}>{title}</h2>
            {entries.map((each) => (
              <Entry
                key={each.key}
                icon={each.icon}
                label={each.label}
                count={each.count ?? 0}
                {...(each.countLabel !== undefined && { countLabel: each.countLabel })}
                current={account === undefined && state === each.view.state && assignee === each.view.assignee}
                go={() => setView(each.view)}
              />
            ))}
          </div>
        )}
      />
      <LabelViews
        current={label}
        render={(entries, title, showAll) => (
          <div className={classes.account}>
            <h2 className={classes.address}>{title}</h2>
            {entries.map((each) => (
              <Entry
                key={each.label}
                icon="tag"
                iconColor={`var(--mantine-color-${getLabelColor(each.label)}-filled)`}
                label={each.label}
                count={each.conversations}
                countLabel={t.team.labels.count(each.label, each.conversations)}
                current={account === undefined && folder === 'any' && label === each.label}
                go={() => setView(each.view)}
              />
            ))}
            {showAll && (
              <UnstyledButton className={classes.entry} onClick={showAll} c="dimmed">
                {t.team.labels.all}
              </UnstyledButton>
            )}
          </div>
        )}
      />
      {accounts.map((each) => (
        <div key={each.id} className={classes.account}>
          <h2 className={classes.address} title={each.problem?.message ?? each.address}>
            <TextLink
              to="/a/$app/inbox/accounts/$account"
              params={{ app, account: String(each.id) }}
              className={classes.link}
              dir="auto"
              inherit
              c="inherit"
            >
              {each.name || each.address}
            </TextLink>
            {each.problem && (
              <span role="img" aria-label={t.accounts.synchronisation.inInbox(each.address)}>
                <Icon name="warning" size={13} />
              </span>
            )}
          </h2>
          {listFolders(each.mailboxes, accounts.length === 1).map((mailbox) => (
            <Entry
              key={mailbox.id}
              icon={icons[mailbox.role ?? ''] ?? 'folder'}
              label={t.folderName(getFolderKey(mailbox))}
              count={mailbox.role === 'trash' ? 0 : mailbox.unread}
              current={account === each.id && isPlain && folder === getFolderKey(mailbox)}
              go={() => setView({ account: each.id, folder: getFolderKey(mailbox) })}
            />
          ))}
        </div>
      ))}
      <FolderLinks />
    </nav>
  );
}

/** The saved searches of the user, each with a menu to delete it. */
function SavedSearchEntries({ view, setView }: Pick<FolderPaneProps, 'view' | 'setView'>): ReactNode {
  const t = useInboxTexts().search;
  const saved = useSavedSearches();
  const remove = useDeleteSearch();
  if (saved.length === 0) return null;
  return (
    <div className={classes.account}>
      <h2 className={classes.address}>{t.saved}</h2>
      {saved.map((each) => (
        <div key={each.id} className={classes.saved}>
          <Entry
            icon="bookmark"
            label={each.name}
            current={isSameView(each.view, view)}
            go={() => setView(each.view)}
          />
          <IconButton icon="x" size="sm" label={t.deleteSaved(each.name)} onClick={() => void remove(each.id)} />
        </div>
      ))}
    </div>
  );
}

/** Links to the other pages of the inbox, as far as the role may use them. */
function FolderLinks(): ReactNode {
  const t = useInboxTexts();
  const app = useApplication();
  const may = useMay();
  return (
    <div className={classes.end}>
      <TextLink to="/a/$app/inbox/accounts" params={{ app }} size="sm" c="dimmed">
        {t.accounts.manage}
      </TextLink>
      {may('contacts', 'list') && (
        <TextLink to="/a/$app/inbox/contacts" params={{ app }} size="sm" c="dimmed">
          {t.contacts.link}
        </TextLink>
      )}
      {may('conversations', 'list') && (
        <TextLink to="/a/$app/inbox/reports" params={{ app }} size="sm" c="dimmed">
          {t.reports.link}
        </TextLink>
      )}
      {may('mailCampaigns', 'list') && (
        <TextLink to="/a/$app/inbox/campaigns" params={{ app }} size="sm" c="dimmed">
          {t.campaigns.link}
        </TextLink>
      )}
    </div>
  );
}

interface EntryProps {
  readonly icon: IconName;
  /** The CSS colour of the icon; that of the text by default. */
  readonly iconColor?: string;
  readonly label: string;
  readonly count?: number;
  /** What the count means; unread messages by default. */
  readonly countLabel?: string;
  readonly current: boolean;
  readonly go: () => void;
}

function Entry({ icon, iconColor, label, count = 0, countLabel, current, go }: EntryProps): ReactNode {
  const t = useInboxTexts();
  const meaning = countLabel ?? t.unreadCount(count);
  return (
    <UnstyledButton
      className={classes.entry}
      data-current={current || undefined}
      aria-current={current || undefined}
      onClick={go}
    >
      <span className={classes.icon} style={{ color: iconColor }}>
        <Icon name={icon} />
      </span>
      <span className={classes.name} dir="auto">
        {label}
      </span>
      {count > 0 && (
        <span className={classes.count} title={meaning}>
          <span aria-hidden="true">{t.count(count)}</span>
          <span className="visually-hidden">{meaning}</span>
        </span>
      )}
    </UnstyledButton>
  );
}

/** Sorts folders with a role first, the others by name. */
export function sortFolders(mailboxes: readonly Mailbox[]): readonly Mailbox[] {
  const sortPosition = ({ role }: Mailbox): number => (role === null ? roleOrder.length : roleOrder.indexOf(role));
  return mailboxes.toSorted((a, b) => sortPosition(a) - sortPosition(b) || a.path.localeCompare(b.path));
}

/** @param single there is only one account, whose inbox is already listed above. */
function listFolders(mailboxes: readonly Mailbox[], single: boolean): readonly Mailbox[] {
  return sortFolders(single ? mailboxes.filter(({ role }) => role !== 'inbox') : mailboxes);
}
