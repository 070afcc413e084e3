/** The settings of mail accounts. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ConfigError, defineSetting, parseChoice, type Setting } from './setting.ts';

/** The registration of this server at a provider of OAuth 2. */
export interface OauthClient {
  readonly id: string;
  /** Null for a public client, which has none. */
  readonly secret: string | null;
}

export interface MailConfig {
  /** Encrypts the passwords of mail accounts; null: a key file in the data folder. */
  readonly mailSecretKey: string | null;
  readonly mailSecretKeyPrevious: string | null;
  /** Private hosts, addresses and ranges that mail accounts may use. */
  readonly mailAllowedPrivateHosts: readonly string[];
  /** Private hosts, addresses and ranges that push messages may be sent to. */
  readonly mailPushAllow: readonly string[];
  /** False: this server synchronises no mail accounts. */
  readonly mailSync: boolean;
  /** False: this server sends no message of the outbox. */
  readonly mailDelivery: boolean;
  /** Whether name servers are queried about the senders of received mail. */
  readonly mailDns: boolean;
  /** PEM certificates that are trusted for mail servers and OAuth issuers, in addition to the public authorities. */
  readonly mailCertificates: readonly string[];
  /** Used by accounts that name no client of their own; null if the operator has registered none. */
  readonly mailOauthClients: { readonly google: OauthClient | null; readonly microsoft: OauthClient | null };
}

/** Every environment variable about mail accounts that the server reads. */
export const mailSettings: readonly Setting[] = [
  defineSetting(
    'MAIL_SECRET_KEY',
    '',
    'Secret under which passwords of mail accounts are encrypted; empty: a key file in `DATA_DIR`.',
    true,
  ),
  defineSetting('MAIL_SECRET_KEY_PREVIOUS', '', 'The previous MAIL_SECRET_KEY, accepted while it is rotated.', true),
  defineSetting(
    'MAIL_ALLOWED_PRIVATE_HOSTS',
    '',
    'Mail servers inside the network that accounts may use: hosts, addresses or ranges, separated by commas.',
  ),
  defineSetting(
    'MAIL_PUSH_ALLOW',
    '',
    'Hosts, addresses or ranges inside the network that push messages may be sent to, separated by commas; empty: only public addresses.',
  ),
  defineSetting(
    'MAIL_SYNC',
    'on',
    'on or off. off: this server does not synchronise mail accounts with their mail servers. Use off for a server on a copy of the data.',
  ),
  defineSetting(
    'MAIL_DELIVERY',
    'on',
    'on or off. off: this server does not send the messages that wait in the outbox. Use off for a server on a copy of the data.',
  ),
  defineSetting(
    'MAIL_DNS',
    'on',
    'on or off. With off, no name server is queried about the senders of received mail: signatures are not verified, and only the results of the receiving mail server count.',
  ),
  defineSetting(
    'MAIL_CA_FILE',
    '',
    'File of PEM certificates with which mail servers and OAuth issuers are verified, in addition to the public authorities.',
  ),
  defineSetting('MAIL_GOOGLE_CLIENT_ID', '', 'OAuth client id of this server at Google, for Gmail accounts.'),
  defineSetting('MAIL_GOOGLE_CLIENT_SECRET', '', 'The client secret that belongs to MAIL_GOOGLE_CLIENT_ID.', true),
  defineSetting('MAIL_MICROSOFT_CLIENT_ID', '', 'OAuth client id of this server at Microsoft, for Outlook accounts.'),
  defineSetting(
    'MAIL_MICROSOFT_CLIENT_SECRET',
    '',
    'The client secret that belongs to MAIL_MICROSOFT_CLIENT_ID.',
    true,
  ),
];

/**
 * Reads the settings of mail accounts.
 *
 * @param read the value of a setting, empty if it is not set.
 * @param parseHosts checks a list of hosts, addresses and ranges.
 * @throws ConfigError naming the setting and the cure.
 */
export function readMailConfig(
  read: (name: string) => string,
  parseHosts: (name: string, text: string) => readonly string[],
): MailConfig {
  const optional = (name: string): string | null => read(name) || null;
  const isOn = (name: string): boolean => parseChoice(name, read(name), ['on', 'off']) === 'on';
  const client = (provider: string): OauthClient | null => {
    const id = optional(`MAIL_${provider}_CLIENT_ID`);
    const secret = optional(`MAIL_${provider}_CLIENT_SECRET`);
    if (id === null && secret !== null)
      throw new ConfigError(`MAIL_${provider}_CLIENT_ID is missing. It belongs to MAIL_${provider}_CLIENT_SECRET.`);
    return id === null ? null : { id, secret };
  };
  return {
    mailSecretKey: optional('MAIL_SECRET_KEY'),
    mailSecretKeyPrevious: optional('MAIL_SECRET_KEY_PREVIOUS'),
    mailAllowedPrivateHosts: parseHosts('MAIL_ALLOWED_PRIVATE_HOSTS', read('MAIL_ALLOWED_PRIVATE_HOSTS')),
    mailPushAllow: parseHosts('MAIL_PUSH_ALLOW', read('MAIL_PUSH_ALLOW')),
    mailSync: isOn('MAIL_SYNC'),
    mailDelivery: isOn('MAIL_DELIVERY'),
    mailDns: isOn('MAIL_DNS'),
    mailCertificates: readCertificates(optional('MAIL_CA_FILE')),
    mailOauthClients: { google: client('GOOGLE'), microsoft: client('MICROSOFT') },
  };
}

const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function readCertificates(file: string | null): readonly string[] {
  if (file === null) return [];
  const certificates = readText(file).match(certificate) ?? [];
  if (certificates.length === 0 || !certificates.every(isCertificate))
    throw new ConfigError(
      'MAIL_CA_FILE must name a file of certificates in PEM, each between the lines BEGIN CERTIFICATE and END CERTIFICATE.',
    );
  return certificates;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new ConfigError('The file that MAIL_CA_FILE names cannot be read. Check its path and permissions.');
  }
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
