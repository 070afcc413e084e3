import {
  Button,
  Group,
  PasswordInput,
  Select,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { getErrorDetails } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import type { AccountRecord, Member } from './account-data.ts';
import { type AccountDraft, createAccountDraft, type SecretName, toAccountValues } from './account-draft.ts';
import { MembersSelect } from './members-select.tsx';
import { ServerFields } from './server-fields.tsx';

interface AccountFormProps {
  /** Null for a new one. */
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
  const [initialAccount] = useState(account);
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
        <ServerFields kind="imap" server={draft.imap} change={(imap) => change({ imap })} problems={problems} />
        <ServerFields kind="smtp" server={draft.smtp} change={(smtp) => change({ smtp })} problems={problems} />
        <Select
          label={t.auth}
          data={(['password', 'oauth2'] as const).map((value) => ({ value, label: t.auths[value] }))}
          value={draft.auth}
          onChange={(auth) => auth && change({ auth })}
          allowDeselect={false}
        />
        <Text size="sm" c="dimmed">
          {account ? t.secretKept : t.secretNew}
        </Text>
        <SecretFields draft={draft} change={change} problems={problems} />
        <FormProblem error={error} />
        <Group>
          <Button type="submit" loading={saving}>
            {account ? texts.common.save : t.add}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface SecretFieldsProps {
  readonly draft: AccountDraft;
  readonly change: (part: Partial<AccountDraft>) => void;
  readonly problems: Readonly<Record<string, string>>;
}

/** The credentials of the chosen kind of sign-in. */
function SecretFields({ draft, change, problems }: SecretFieldsProps): ReactNode {
  const t = useInboxTexts().accounts;
  const names: readonly SecretName[] =
    draft.auth === 'oauth2' ? ['refreshToken', 'clientSecret'] : ['password', 'smtpPassword'];
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
      {names.map((name) => (
        <PasswordInput
          key={name}
          label={t[name]}
          value={draft.secrets[name]}
          onChange={(event) => change({ secrets: { ...draft.secrets, [name]: event.currentTarget.value } })}
          error={problems[name]}
          autoComplete="new-password"
        />
      ))}
    </SimpleGrid>
  );
}
