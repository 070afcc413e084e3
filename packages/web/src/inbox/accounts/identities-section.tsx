import { Badge, Button, Group, Modal, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Section } from '../../data/section.tsx';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { Identity } from '../mail-types.ts';
import { type AccountRecord, accountKeys } from './account-data.ts';
import { AliasCodeForm } from './alias-code-form.tsx';
import { IdentityForm } from './identity-form.tsx';

interface IdentitiesSectionProps {
  readonly account: AccountRecord;
  /** Whether the role may change accounts. */
  readonly canChange: boolean;
}

/** What the dialog is about; `new`: an alias to add. */
type Dialog = { readonly kind: 'new' } | { readonly kind: 'edit' | 'verify'; readonly identity: Identity };

/** The addresses that an account sends as. Aliases must be verified with a code that is sent to them. */
export function IdentitiesSection({ account, canChange }: IdentitiesSectionProps): ReactNode {
  const t = useInboxTexts().accounts.identities;
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const close = (): void => setDialog(null);
  const add = canChange && (
    <Button variant="default" leftSection={<Icon name="plus" />} onClick={() => setDialog({ kind: 'new' })}>
      {t.add}
    </Button>
  );
  const title = { new: t.add, edit: t.editTitle, verify: t.verifyTitle }[dialog?.kind ?? 'new'];
  return (
    <Section title={t.title} text={t.text} actions={add}>
      <ListTable<Identity>
        label={t.title}
        rows={account.identities ?? []}
        keyOf={({ address }) => address}
        columns={[
          { title: t.columns.address, render: ({ address }) => <LongText isAddress>{address}</LongText> },
          {
            title: t.columns.name,
            render: ({ name }) =>
              name ? (
                <LongText>{name}</LongText>
              ) : (
                <Text c="dimmed" size="sm" component="div">
                  <LongText>{account.name}</LongText>
                </Text>
              ),
          },
          { title: t.columns.state, render: (identity) => <IdentityState {...{ account, identity }} /> },
          {
            title: '',
            width: 210,
            render: (identity) => canChange && <IdentityButtons {...{ account, identity }} open={setDialog} />,
          },
        ]}
      />
      <Modal opened={dialog !== null} onClose={close} title={title} size="sm">
        {dialog?.kind === 'verify' ? (
          <AliasCodeForm account={account} alias={dialog.identity.address} done={close} />
        ) : (
          dialog && (
            <IdentityForm account={account} identity={dialog.kind === 'edit' ? dialog.identity : null} done={close} />
          )
        )}
      </Modal>
    </Section>
  );
}

const isOwnAddress = (account: AccountRecord, { address }: Identity): boolean =>
  address.toLowerCase() === account.address.toLowerCase();

interface IdentityProps {
  readonly account: AccountRecord;
  readonly identity: Identity;
}

function IdentityState({ account, identity }: IdentityProps): ReactNode {
  const t = useInboxTexts().accounts.identities;
  if (isOwnAddress(account, identity))
    return (
      <Text size="sm" c="dimmed" className="nowrap" span>
        {t.own}
      </Text>
    );
  const isVerified = identity.verifiedAt !== null;
  return (
    <Badge variant="dot" color={isVerified ? 'teal' : 'orange'} tt="none" miw="max-content">
      {isVerified ? t.verified : t.notVerified}
    </Badge>
  );
}

function IdentityButtons({ account, identity, open }: IdentityProps & { open: (dialog: Dialog) => void }): ReactNode {
  const t = useInboxTexts().accounts.identities;
  const { destroy: confirmLabel } = useTexts().common;
  const { address, verifiedAt } = identity;
  const remove = useActionMutation({
    write: (client) => {
      const aliases = (account.aliases ?? []).filter((each) => each.toLowerCase() !== address.toLowerCase());
      return client.post('accounts:update', { aliases }, { filterByTk: account.id });
    },
    changes: accountKeys,
    done: () => toast(t.removed),
  });
  const confirmRemove = async (): Promise<void> => {
    if (await confirm({ title: t.removeTitle, text: t.removeText(address), confirmLabel, danger: true }))
      await remove();
  };
  const isOwn = isOwnAddress(account, identity);
  return (
    <Group gap={2} wrap="nowrap" justify="flex-end">
      {!isOwn && verifiedAt === null && (
        <Button size="compact-sm" variant="default" mr={4} onClick={() => open({ kind: 'verify', identity })}>
          {t.verify}
        </Button>
      )}
      <IconButton icon="edit" size="md" label={t.edit(address)} onClick={() => open({ kind: 'edit', identity })} />
      {!isOwn && <IconButton icon="trash" size="md" label={t.remove(address)} onClick={() => void confirmRemove()} />}
    </Group>
  );
}
