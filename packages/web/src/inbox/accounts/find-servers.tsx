import { Alert, Anchor, Group, List, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { useApiMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { PendingButton } from '../../ui/pending-button.tsx';
import type { MailServer } from './account-data.ts';
import { type AccountDraft, createServerDraft, type OauthDraft } from './account-draft.ts';

interface FoundServer extends MailServer {
  /** The host was named by an unprotected record and does not belong to the domain of the address. */
  readonly needsConfirmation: boolean;
  readonly offersPassword: boolean;
}

interface Discovery {
  readonly provider: {
    readonly name: string;
    readonly oauth: Exclude<OauthDraft['provider'], 'other'> | null;
    readonly appPasswordUrl: string | null;
  } | null;
  readonly imap: FoundServer | null;
  readonly smtp: FoundServer | null;
  /** Every server that was tried; `problem` is null for those that work. */
  readonly tried: readonly { readonly problem: { readonly message: string } | null }[];
}

interface FindServersProps {
  readonly draft: AccountDraft;
  readonly change: (part: Partial<AccountDraft>) => void;
}

/** Finds the mail servers of the address and fills the form with them. */
export function FindServers({ draft, change }: FindServersProps): ReactNode {
  const t = useInboxTexts().accounts.discover;
  const find = useApiMutation<Discovery, string>({
    write: (client, address) => client.post<Discovery>('accounts:discover', { address }),
    changes: [],
    done: (discovery, given) => given === address && change(toDraft(discovery, draft)),
  });
  const address = draft.address.trim();
  // What was found for another address does not belong to this one.
  const isCurrent = find.variables === address;
  return (
    <Stack gap="xs">
      <Group gap="sm">
        <PendingButton
          variant="default"
          disabled={!address.includes('@')}
          pending={find.isPending}
          onClick={() => find.mutate(address)}
        >
          {t.run}
        </PendingButton>
        <Text size="sm" c="dimmed" flex="1 1 240px" role="status">
          {find.isPending ? t.running : t.text}
        </Text>
      </Group>
      {isCurrent && <FormProblem error={find.error} />}
      {isCurrent && find.data && <Found discovery={find.data} />}
    </Stack>
  );
}

/** What the form is filled with: the servers, and how to sign in to them where they accept no password. */
function toDraft({ imap, smtp, provider }: Discovery, { oauth }: AccountDraft): Partial<AccountDraft> {
  const needsOauth = imap !== null && !imap.offersPassword;
  return {
    ...(imap && { imap: createServerDraft(imap, String(imap.port)) }),
    ...(smtp && { smtp: createServerDraft(smtp, String(smtp.port)) }),
    ...(needsOauth && { auth: 'oauth2', oauth: { ...oauth, provider: provider?.oauth ?? 'other' } }),
  };
}

function Found({ discovery }: { discovery: Discovery }): ReactNode {
  const texts = useInboxTexts().accounts;
  const t = texts.discover;
  const { provider, imap, smtp, tried } = discovery;
  const hosts = [imap, smtp].flatMap((server) => (server ? [server.host] : []));
  const missing = [...(imap ? [] : [texts.imap]), ...(smtp ? [] : [texts.smtp])];
  const needsOauth = imap !== null && !imap.offersPassword;
  return (
    <Alert
      {...(missing.length > 0 && { color: 'yellow' })}
      variant="light"
      icon={<Icon name={missing.length > 0 ? 'warning' : 'check'} />}
      role="status"
    >
      <Stack gap="xs">
        {hosts.length === 0 ? <span>{t.none}</span> : <span>{t.found(hosts.join(', '))}</span>}
        {hosts.length > 0 && missing.length > 0 && <span>{t.missing(missing.join(', '))}</span>}
        {(imap?.needsConfirmation || smtp?.needsConfirmation) && <span>{t.confirm}</span>}
        {needsOauth && <span>{provider?.oauth ? t.oauth(provider.name) : t.oauthOther}</span>}
        {!needsOauth && provider?.appPasswordUrl && (
          <span>
            {t.appPassword(provider.name)}{' '}
            <Anchor href={provider.appPasswordUrl} target="_blank" rel="noreferrer" size="sm">
              {provider.appPasswordUrl}
            </Anchor>
          </span>
        )}
        {missing.length > 0 && <TriedServers tried={tried} />}
      </Stack>
    </Alert>
  );
}

/** Why the servers that were tried cannot be used. */
function TriedServers({ tried }: Pick<Discovery, 'tried'>): ReactNode {
  const t = useInboxTexts().accounts.discover;
  const messages = [...new Set(tried.flatMap(({ problem }) => problem?.message ?? []))];
  if (messages.length === 0) return null;
  return (
    <details>
      <summary>{t.tried(messages.length)}</summary>
      <List size="sm" mt="xs">
        {messages.map((message) => (
          <List.Item key={message}>{message}</List.Item>
        ))}
      </List>
    </details>
  );
}
