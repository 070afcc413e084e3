import { Button, Modal, Stack } from '@mantine/core';
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
import { ContactList } from './contact-list.tsx';
import { GroupForm } from './group-form.tsx';
import { GroupList } from './group-list.tsx';

type Dialog =
  | { readonly kind: 'contact'; readonly contact: Contact | null }
  | { readonly kind: 'group'; readonly group: ContactGroup | null };

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
  useContactEvents();
  const close = (): void => setDialog(null);
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
        <ContactList
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
      </Modal>
    </Page>
  );
}

function getDialogTitle(dialog: Dialog | null, t: ReturnType<typeof useInboxTexts>['contacts']): string {
  if (dialog?.kind === 'group') return dialog.group ? t.groups.edit : t.groups.add;
  return dialog?.contact ? t.edit : t.add;
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
