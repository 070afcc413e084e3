/** The draft of a mail account in its form, and the request body made from it. */
import { emptyToNull } from '../../data/use-api-mutation.ts';
import type { AccountRecord, MailServer } from './account-data.ts';

export interface ServerDraft {
  readonly host: string;
  readonly port: string;
  readonly security: MailServer['security'];
  readonly user: string;
}

/** Secrets can be written but not read: their inputs are empty at first. */
export const secretNames = ['password', 'smtpPassword', 'refreshToken', 'clientSecret'] as const;
export type SecretName = (typeof secretNames)[number];

export interface AccountDraft {
  readonly address: string;
  readonly name: string;
  readonly signature: string;
  readonly auth: AccountRecord['auth'];
  readonly imap: ServerDraft;
  readonly smtp: ServerDraft;
  readonly secrets: Readonly<Record<SecretName, string>>;
  /** Null if the members are not changed. */
  readonly members: readonly number[] | null;
}

/** The usual port for each kind of security. */
export const defaultPorts = {
  imap: { tls: '993', starttls: '143', none: '143' },
  smtp: { tls: '465', starttls: '587', none: '25' },
} as const;

const emptySecrets = { password: '', smtpPassword: '', refreshToken: '', clientSecret: '' };

export function createAccountDraft(account: AccountRecord | null): AccountDraft {
  return {
    address: account?.address ?? '',
    name: account?.name ?? '',
    signature: account?.signature ?? '',
    auth: account?.auth ?? 'password',
    imap: createServerDraft(account?.imap ?? null, defaultPorts.imap.tls),
    smtp: createServerDraft(account?.smtp ?? null, defaultPorts.smtp.tls),
    secrets: emptySecrets,
    members: null,
  };
}

function createServerDraft(server: MailServer | null, port: string): ServerDraft {
  if (!server) return { host: '', port, security: 'tls', user: '' };
  return { host: server.host, port: String(server.port), security: server.security, user: server.user ?? '' };
}

/** The request body of `accounts:create`; for an existing account only the changed values. */
export function toAccountValues(draft: AccountDraft, account: AccountRecord | null): Record<string, unknown> {
  const values: Record<string, unknown> = {
    address: draft.address.trim(),
    name: emptyToNull(draft.name),
    signature: draft.signature.trim() === '' ? null : draft.signature.trimEnd(),
    auth: draft.auth,
    imap: toServerValues(draft.imap),
    smtp: toServerValues(draft.smtp),
  };
  const secrets = Object.entries(draft.secrets).filter(([, secret]) => secret !== '');
  const differing = Object.entries(values).filter(([name, value]) => {
    const before = account ? account[name as keyof AccountRecord] : null;
    return JSON.stringify(value) !== JSON.stringify(before ?? null);
  });
  return { ...Object.fromEntries([...differing, ...secrets]), ...(draft.members && { members: draft.members }) };
}

function toServerValues({ host, port, security, user }: ServerDraft): object | null {
  if (host.trim() === '') return null;
  return { host: host.trim(), port: Number(port), security, user: emptyToNull(user) };
}
