import {
  Group,
  PasswordInput,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { useSchema } from '../../data/schema.ts';
import { getErrorDetails } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { PendingButton } from '../../ui/pending-button.tsx';
import type { AccountRecord, Member } from './account-data.ts';
import { type AccountDraft, createAccountDraft, toAccountValues } from './account-draft.ts';
import { ConnectionTest } from './connection-test.tsx';
import { FindServers } from './find-servers.tsx';
import { MembersSelect } from './members-select.tsx';
import { OauthFields } from './oauth-fields.tsx';
import { ServerFields } from './server-fields.tsx';
import { settingIds } from './setting-ids.ts';

interface AccountFormProps {
  /** Null for a new one. The form starts again when this is another object. */
  readonly account: AccountRecord | null;
  /** Null if the role may not list users. */
  readonly members: readonly Member[] | null;
  readonly save: (values: Record<string, unknown>) => void;
  readonly saving: boolean;
  readonly error: unknown;
}

export function AccountForm({ account, members, save, saving, error }: AccountFormProps): ReactNode {
  const texts = useTexts();
  const t = useInboxTexts().accounts;
  const [draft, setDraft] = useState(() => createAccountDraft(account));
  // Only what is changed in this form is saved, not what others change meanwhile.
  const [initialAccount, setInitialAccount] = useState(account);
  if (initialAccount !== account) {
    // Saved: the form starts again with the stored values and without secrets.
    setInitialAccount(account);
    setDraft(createAccountDraft(account));
  }
  const problems = getErrorDetails(error);
  const change = (part: Partial<typeof draft>): void => setDraft({ ...draft, ...part });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save(toAccountValues(draft, initialAccount));
  };
  const text = (name: 'address' | 'name' | 'signature') => ({
    label: t[name],
    description: t[`${name}Hint`],
    value: draft[name],
    onChange: (event: { currentTarget: { value: string } }) => change({ [name]: event.currentTarget.value }),
    error: problems[name],
    autoComplete: 'off',
  });
  return (
    <form onSubmit={submit}>
      <Stack gap="sm" maw={640}>
        <TextInput {...text('address')} type="email" required autoFocus={account === null} />
        <TextInput {...text('name')} maxLength={255} />
        <Textarea {...text('signature')} autosize minRows={3} maxRows={10} />
        <MembersSelect
          present={members}
          value={draft.members ?? (members ?? []).map(({ id }) => id)}
          change={(next) => change({ members: next })}
          error={problems['members']}
        />
        <Stack gap={2} mt="sm">
          <Title order={3}>{t.servers}</Title>
          <Text size="sm" c="dimmed">
            {t.serversHint}
          </Text>
        </Stack>
        <FindServers draft={draft} change={change} />
        <ServerFields kind="imap" server={draft.imap} change={(imap) => change({ imap })} problems={problems} />
        <ServerFields kind="smtp" server={draft.smtp} change={(smtp) => change({ smtp })} problems={problems} />
        <Credentials account={account} draft={draft} change={change} problems={problems} />
        {account && (
          <AuthservIds
            value={draft.authservIds}
            change={(authservIds) => change({ authservIds })}
            problems={problems}
          />
        )}
        <FormProblem error={error} />
        <Group>
          <PendingButton type="submit" pending={saving}>
            {account ? texts.common.save : draft.auth === 'oauth2' ? t.addAndSignIn : t.add}
          </PendingButton>
        </Group>
      </Stack>
    </form>
  );
}

interface CredentialsProps {
  /** Null for a new one. */
  readonly account: AccountRecord | null;
  readonly draft: AccountDraft;
  readonly change: (part: Partial<AccountDraft>) => void;
  readonly problems: Readonly<Record<string, string>>;
}

/** How the account signs in to its servers. */
function Credentials({ account, draft, change, problems }: CredentialsProps): ReactNode {
  const t = useInboxTexts().accounts;
  return (
    <>
      <Select
        id={settingIds.method}
        label={t.auth}
        data={(['password', 'oauth2'] as const).map((value) => ({ value, label: t.auths[value] }))}
        value={draft.auth}
        onChange={(auth) => auth && change({ auth })}
        allowDeselect={false}
      />
      {draft.auth === 'oauth2' ? (
        <OauthFields draft={draft} change={change} problems={problems} />
      ) : (
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          {(['password', 'smtpPassword'] as const).map((name) => (
            <PasswordInput
              key={name}
              {...(name === 'password' && { id: settingIds.password })}
              label={t[name]}
              value={draft.secrets[name]}
              onChange={(event) => change({ secrets: { ...draft.secrets, [name]: event.currentTarget.value } })}
              error={problems[name]}
              autoComplete="new-password"
            />
          ))}
        </SimpleGrid>
      )}
      <Text size="sm" c="dimmed">
        {account ? t.secretKept : t.secretNew}
      </Text>
      {draft.auth === 'password' && <ConnectionTest account={account} draft={draft} />}
    </>
  );
}

interface AuthservIdsProps {
  readonly value: readonly string[];
  readonly change: (names: readonly string[]) => void;
  readonly problems: Readonly<Record<string, string>>;
}

/** The names of the receiving servers whose sender checks count. Only shown to roles that may change them. */
function AuthservIds({ value, change, problems }: AuthservIdsProps): ReactNode {
  const t = useInboxTexts().accounts;
  const { data: schema } = useSchema();
  if (!schema?.mayWrite('accounts', 'update', 'authservIds')) return null;
  return (
    <TagsInput
      label={t.authservIds}
      description={t.authservIdsHint}
      value={[...value]}
      onChange={(names) => change(names.flatMap((each) => each.split(/[\s,;]+/)).filter((each) => each !== ''))}
      error={problems['authservIds'] && t.authservIdsInvalid}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
    />
  );
}
