import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage, QueryBoundary } from '../../data/problem.tsx';
import { useMay } from '../../data/schema.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { ButtonLink, TextLink } from '../../ui/links.tsx';
import { Page } from '../../ui/page.tsx';
import { toast } from '../../ui/toasts.tsx';
import { addressText } from '../compose/addresses.ts';
import { useComposer } from '../compose/use-composer.ts';
import { useAccounts } from '../mail-queries.ts';
import type { Account } from '../mail-types.ts';
import {
  type Contact,
  type ContactChoice,
  type ContactGroup,
  readGroupMembers,
  useContactEvents,
  useContactGroups,
} from './contact-data.ts';
import { ContactForm } from './contact-form.tsx';
import { ContactList, type ContactSelection } from './contact-list.tsx';
import { GroupForm } from './group-form.tsx';
import { GroupList } from './group-list.tsx';
import { MergeForm } from './merge-form.tsx';

type Dialog =
  | { readonly kind: 'contact'; readonly contact: Contact | null }
  | { readonly kind: 'group'; readonly group: ContactGroup | null }
  | { readonly kind: 'merge' };

/** The page of the contacts of all accounts of the user. */
export function ContactsPage(): ReactNode {
  const t = useInboxTexts();
  const app = useApplication();
  const accounts = useAccounts();
  const above = (
    <TextLink to="/a/$app/inbox" params={{ app }}>
      {t.accounts.backToInbox}
    </TextLink>
  );
  return (
    <QueryBoundary query={accounts} permission={{ resource: 'accounts', action: 'list' }}>
      {({ ownAccounts }) => <Content accounts={ownAccounts} above={above} />}
    </QueryBoundary>
  );
}

function Content({ accounts, above }: { readonly accounts: readonly Account[]; readonly above: ReactNode }): ReactNode {
  const t = useInboxTexts().contacts;
  const app = useApplication();
  const may = useMay();
  const groups = useContactGroups().data ?? [];
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [group, setGroup] = useState<number | null>(null);
  const writeTo = useWriteTo(accounts);
  const selection = useContactSelection();
  const selected = [...selection.contacts.values()];
  useContactEvents();
  const close = (): void => setDialog(null);
  const mayMerge = may('contacts', 'merge');
  const mayAdd = may('contacts', 'create') && accounts.length > 0;
  const mayAddGroup = may('contactGroups', 'create') && accounts.length > 0;
  const actions = (
    <>
      {may('contacts', 'export') && (
        <ButtonLink variant="default" to="/a/$app/data/$collection" params={{ app, collection: 'contacts' }}>
          {t.export}
        </ButtonLink>
      )}
      {mayAdd && may('contacts', 'import') && (
        <ButtonLink variant="default" to="/a/$app/data/$collection/import" params={{ app, collection: 'contacts' }}>
          {t.import}
        </ButtonLink>
      )}
      {mayAdd && (
        <Button leftSection={<Icon name="plus" />} onClick={() => setDialog({ kind: 'contact', contact: null })}>
          {t.add}
        </Button>
      )}
    </>
  );
  return (
    <Page title={t.title} above={above} description={t.description} actions={actions}>
      <Stack gap="xl">
        {selected.length > 0 && (
          <MergeBar selected={selected} merge={() => setDialog({ kind: 'merge' })} clear={selection.clear} />
        )}
        <ContactList
          selection={mayMerge ? selection : null}
          groups={groups}
          group={group}
          setGroup={setGroup}
          edit={(contact) => setDialog({ kind: 'contact', contact })}
          writeTo={(contact) => void writeTo(contact.accountId, [contact])}
        />
        {may('contactGroups', 'list') && (
          <GroupList
            groups={groups}
            accounts={accounts}
            add={mayAddGroup ? () => setDialog({ kind: 'group', group: null }) : null}
            edit={(each) => setDialog({ kind: 'group', group: each })}
            show={({ id }) => setGroup(id)}
            writeTo={async (each) => {
              try {
                const members = await readGroupMembers(getClient(app), each.id);
                if (members.length === 0) toast(t.groups.empty(each.name), { failed: true });
                else await writeTo(each.accountId, members);
              } catch (error) {
                toast(getErrorMessage(error as Error), { failed: true });
              }
            }}
          />
        )}
      </Stack>
      <Modal opened={dialog !== null} onClose={close} title={getDialogTitle(dialog, t)} size="lg">
        {dialog?.kind === 'contact' && (
          <ContactForm accounts={accounts} groups={groups} contact={dialog.contact} done={close} />
        )}
        {dialog?.kind === 'group' && <GroupForm accounts={accounts} group={dialog.group} done={close} />}
        {dialog?.kind === 'merge' && (
          <MergeForm
            contacts={selected}
            done={(isMerged) => {
              close();
              if (isMerged) selection.clear();
            }}
          />
        )}
      </Modal>
    </Page>
  );
}

function getDialogTitle(dialog: Dialog | null, t: ReturnType<typeof useInboxTexts>['contacts']): string {
  if (dialog?.kind === 'group') return dialog.group ? t.groups.edit : t.groups.add;
  if (dialog?.kind === 'merge') return t.merging.title;
  return dialog?.contact ? t.edit : t.add;
}

/** The contacts that are chosen to be merged, also those of other pages of the list. */
function useContactSelection(): ContactSelection & { readonly clear: () => void } {
  const [contacts, setContacts] = useState<ReadonlyMap<number, Contact>>(new Map());
  const toggle = (contact: Contact): void =>
    setContacts((before) => {
      const next = new Map(before);
      if (!next.delete(contact.id)) next.set(contact.id, contact);
      return next;
    });
  return { contacts, toggle, clear: () => setContacts(new Map()) };
}

interface MergeBarProps {
  readonly selected: readonly Contact[];
  readonly merge: () => void;
  readonly clear: () => void;
}

/** The number of selected contacts, and the button to merge them. */
function MergeBar({ selected, merge, clear }: MergeBarProps): ReactNode {
  const { merging: t } = useInboxTexts().contacts;
  const isOneAccount = new Set(selected.map(({ accountId }) => accountId)).size === 1;
  return (
    <Group gap="sm" role="status">
      <Text>{t.selected(selected.length)}</Text>
      <Button size="xs" onClick={merge} disabled={selected.length < 2 || !isOneAccount}>
        {t.merge}
      </Button>
      <Button size="xs" variant="default" onClick={clear}>
        {t.clear}
      </Button>
      {!isOneAccount && <Text size="sm">{t.oneAccount}</Text>}
    </Group>
  );
}

/** Begins a message to people in the inbox. */
function useWriteTo(
  accounts: readonly Account[],
): (accountId: number, people: readonly ContactChoice[]) => Promise<void> {
  const app = useApplication();
  const navigate = useNavigate();
  const composer = useComposer(accounts);
  return async (accountId, people) => {
    await composer.begin({ kind: 'new', accountId, to: people.map(addressText) });
    await navigate({ to: '/a/$app/inbox', params: { app } });
  };
}
