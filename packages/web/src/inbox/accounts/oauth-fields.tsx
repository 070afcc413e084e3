import { Fieldset, PasswordInput, Select, SimpleGrid, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import type { AccountDraft, OauthDraft } from './account-draft.ts';

interface OauthFieldsProps {
  readonly draft: AccountDraft;
  readonly change: (part: Partial<AccountDraft>) => void;
  /** Error messages by path in the request body, such as `oauth.clientId`. */
  readonly problems: Readonly<Record<string, string>>;
}

const providers = ['google', 'microsoft', 'other'] as const;

/** The mail provider with which an account signs in by OAuth 2, and the client of this server there. */
export function OauthFields({ draft, change, problems }: OauthFieldsProps): ReactNode {
  const t = useInboxTexts().accounts.oauth;
  const { oauth, secrets } = draft;
  const isOther = oauth.provider === 'other';
  const changeOauth = (part: Partial<OauthDraft>): void => change({ oauth: { ...oauth, ...part } });
  const text = (name: 'issuer' | 'clientId' | 'scopes') => ({
    label: t[name],
    value: oauth[name],
    onChange: (event: { currentTarget: { value: string } }) => changeOauth({ [name]: event.currentTarget.value }),
    error: problems[`oauth.${name}`],
    autoComplete: 'off',
    autoCapitalize: 'none',
    spellCheck: false,
  });
  return (
    <Fieldset legend={t.title}>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <Select
          label={t.provider}
          data={providers.map((value) => ({ value, label: t.providers[value] }))}
          value={oauth.provider}
          onChange={(provider) => provider && changeOauth({ provider })}
          error={problems['oauth'] ?? problems['oauth.provider']}
          allowDeselect={false}
        />
        {isOther && <TextInput {...text('issuer')} placeholder={t.issuerExample} required />}
        <TextInput {...text('clientId')} {...(!isOther && { description: t.clientHint })} required={isOther} />
        <PasswordInput
          label={t.clientSecret}
          {...(!isOther && { description: t.clientSecretHint })}
          value={secrets.clientSecret}
          onChange={(event) => change({ secrets: { ...secrets, clientSecret: event.currentTarget.value } })}
          error={problems['clientSecret']}
          autoComplete="new-password"
        />
        {isOther && (
          <TextInput {...text('scopes')} description={t.scopesHint} required style={{ gridColumn: '1 / -1' }} />
        )}
      </SimpleGrid>
    </Fieldset>
  );
}
