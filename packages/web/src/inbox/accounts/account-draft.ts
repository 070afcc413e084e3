/** The draft of a mail account in its form, and the request body made from it. */
import { emptyToNull } from '../../data/use-api-mutation.ts';
import type { AccountRecord, MailServer, OauthSettings } from './account-data.ts';

export interface ServerDraft {
  readonly host: string;
  readonly port: string;
  readonly security: MailServer['security'];
  readonly user: string;
}

/** Secrets can be written but not read: their inputs are empty at first. */
export const secretNames = ['password', 'smtpPassword', 'clientSecret'] as const;
export type SecretName = (typeof secretNames)[number];

/** How to sign in by OAuth 2. `other`: with the issuer. */
export interface OauthDraft {
  readonly provider: 'google' | 'microsoft' | 'other';
  readonly issuer: string;
  readonly clientId: string;
  /** Separated by spaces. */
  readonly scopes: string;
}

export interface AccountDraft {
  readonly address: string;
  readonly name: string;
  readonly signature: string;
  readonly auth: AccountRecord['auth'];
  readonly oauth: OauthDraft;
  readonly imap: ServerDraft;
  readonly smtp: ServerDraft;
  readonly secrets: Readonly<Record<SecretName, string>>;
  /** Names of the receiving servers whose results of sender checks count. */
  readonly authservIds: readonly string[];
  /** Null if the members are not changed. */
  readonly members: readonly number[] | null;
}

/** The usual port for each kind of security. */
export const defaultPorts = {
  imap: { tls: '993', starttls: '143', none: '143' },
  smtp: { tls: '465', starttls: '587', none: '25' },
} as const;

const emptySecrets = { password: '', smtpPassword: '', clientSecret: '' };

export function createAccountDraft(account: AccountRecord | null): AccountDraft {
  return {
    address: account?.address ?? '',
    name: account?.name ?? '',
    signature: account?.signature ?? '',
    auth: account?.auth ?? 'password',
    oauth: createOauthDraft(account?.oauth ?? null),
    imap: createServerDraft(account?.imap ?? null, defaultPorts.imap.tls),
    smtp: createServerDraft(account?.smtp ?? null, defaultPorts.smtp.tls),
    secrets: emptySecrets,
    authservIds: account?.authservIds ?? [],
    members: null,
  };
}

function createOauthDraft(oauth: OauthSettings | null): OauthDraft {
  const { provider, issuer, clientId, scopes } = oauth ?? {};
  return {
    provider: provider ?? (issuer ? 'other' : 'google'),
    issuer: issuer ?? '',
    clientId: clientId ?? '',
    scopes: (scopes ?? []).join(' '),
  };
}

/** The draft of a server. @param port used if there is no server yet. */
export function createServerDraft(server: MailServer | null, port: string): ServerDraft {
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
    // The settings stay when the account signs in by password.
    ...(draft.auth === 'oauth2' && { oauth: toOauthSettings(draft.oauth) }),
    imap: toServerValues(draft.imap),
    smtp: toServerValues(draft.smtp),
    authservIds: draft.authservIds.length === 0 ? null : draft.authservIds,
  };
  const secrets = Object.entries(draft.secrets).filter(([, secret]) => secret !== '');
  const differing = Object.entries(values).filter(([name, value]) => {
    const before = account ? account[name as keyof AccountRecord] : null;
    return JSON.stringify(value) !== JSON.stringify(before ?? null);
  });
  return { ...Object.fromEntries([...differing, ...secrets]), ...(draft.members && { members: draft.members }) };
}

/** The request body of `accounts:test`: what the form contains; secrets that are left empty are those of the account. */
export function toTestedValues(draft: AccountDraft): Record<string, unknown> {
  const { password, smtpPassword } = draft.secrets;
  return {
    address: draft.address.trim(),
    imap: toServerValues(draft.imap),
    smtp: toServerValues(draft.smtp),
    ...(password !== '' && { password }),
    ...(smtpPassword !== '' && { smtpPassword }),
  };
}

function toOauthSettings({ provider, issuer, clientId, scopes }: OauthDraft): OauthSettings {
  const listed = scopes.split(/\s+/).filter((scope) => scope !== '');
  return {
    provider: provider === 'other' ? null : provider,
    issuer: provider === 'other' ? issuer.trim() : null,
    clientId: emptyToNull(clientId),
    scopes: listed.length === 0 ? null : listed,
  };
}

function toServerValues({ host, port, security, user }: ServerDraft): object | null {
  if (host.trim() === '') return null;
  return { host: host.trim(), port: Number(port), security, user: emptyToNull(user) };
}
