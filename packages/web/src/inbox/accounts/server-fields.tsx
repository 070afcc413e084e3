import { Fieldset, Select, SimpleGrid, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { defaultPorts, type ServerDraft } from './account-draft.ts';
import { settingIds } from './setting-ids.ts';

interface ServerFieldsProps {
  readonly kind: 'imap' | 'smtp';
  readonly server: ServerDraft;
  readonly change: (server: ServerDraft) => void;
  /** Error messages by path in the request body, such as `imap.host`. */
  readonly problems: Readonly<Record<string, string>>;
}

/** The inputs of the IMAP or SMTP server of an account. */
export function ServerFields({ kind, server, change, problems }: ServerFieldsProps): ReactNode {
  const t = useInboxTexts().accounts;
  const ports = defaultPorts[kind];
  const text = (name: 'host' | 'port' | 'user') => ({
    value: server[name],
    onChange: (event: { currentTarget: { value: string } }) => change({ ...server, [name]: event.currentTarget.value }),
    error: problems[`${kind}.${name}`],
    autoComplete: 'off',
    autoCapitalize: 'none',
    spellCheck: false,
  });
  /** Replaces a default port by that of the new kind of security; other ports are kept. */
  const changeSecurity = (security: ServerDraft['security']): void => {
    const isDefaultPort = Object.values(ports).some((each) => each === server.port);
    change({ ...server, security, ...(isDefaultPort && { port: ports[security] }) });
  };
  return (
    <Fieldset legend={t[kind]}>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
        <TextInput
          {...(kind === 'imap' && { id: settingIds.host })}
          label={t.host}
          description={t.hostHint(`${kind}.example.com`)}
          {...text('host')}
          error={problems[`${kind}.host`] ?? problems[kind]}
        />
        <TextInput label={t.user} description={t.userHint} {...text('user')} />
        <Select
          label={t.security}
          data={(['tls', 'starttls', 'none'] as const).map((value) => ({ value, label: t.securities[value] }))}
          value={server.security}
          onChange={(security) => security && changeSecurity(security)}
          allowDeselect={false}
        />
        <TextInput label={t.port} type="number" min={1} max={65535} {...text('port')} />
      </SimpleGrid>
    </Fieldset>
  );
}
