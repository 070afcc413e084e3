/** Checks of single values of an account. */
import { isEmail, normaliseEmail } from '../../identity/sign-in.ts';
import { invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { ServerEndpoint } from '../connect/server-endpoints.ts';

/** Secrets by name; null deletes one. */
export type AccountSecretValues = Record<string, string | null>;

/** The secrets of a body, checked; null deletes a secret. Secrets are never shown. */
export function checkSecrets(given: Readonly<Record<string, unknown>>): AccountSecretValues {
  const details: Record<string, string> = {};
  const secrets: AccountSecretValues = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (value === null || (typeof value === 'string' && value.length >= 1 && value.length <= 4096))
      secrets[name] = value;
    else details[name] = 'Give a text of 1 to 4096 characters, or null.';
  }
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return secrets;
}

const securityModes = ['tls', 'starttls', 'none'];

/** A mail server as stored with an account. */
export interface MailServerSettings extends ServerEndpoint {
  /** Null: the user name of the other server, or the address. */
  readonly user: string | null;
  /** Whether the provider files what is sent by SMTP among the sent messages itself; absent: known by the host. */
  readonly savesSent?: boolean;
}

/**
 * `{host, port, security, user}`: the server that the account receives or sends mail by.
 *
 * @param name of the field, for messages.
 * @throws ApiError `VALUE_INVALID`
 */
export function parseServer(
  name: string,
  input: unknown,
  mail: Pick<RecordContext['mail'], 'hostProblem' | 'plainProblem'>,
): MailServerSettings {
  const details: Record<string, string> = {};
  const note = (member: string, problem: string | null): void => {
    if (problem !== null) details[`${name}.${member}`] = problem;
  };
  if (!isObject(input)) throw invalidValues({ [name]: 'Give {"host", "port", "security", "user"}.' });
  const { host, port, security = 'tls', user = null, savesSent = null, ...unknownMembers } = input;
  for (const other of Object.keys(unknownMembers))
    note(other.slice(0, 60), 'No such property; host, port, security and user are known.');
  if (savesSent !== null && (name !== 'smtp' || typeof savesSent !== 'boolean'))
    note('savesSent', 'Give true or false with "smtp": whether the provider files sent messages itself.');
  note(
    'host',
    typeof host === 'string' ? mail.hostProblem(host) : 'Give the name of a host, such as imap.example.com.',
  );
  if (!Number.isInteger(port) || (port as number) < 1 || (port as number) > 65_535)
    note('port', 'Give a port, such as 993.');
  if (!securityModes.includes(security as string)) note('security', 'Give tls, starttls or none.');
  if (security === 'none' && typeof host === 'string') note('security', mail.plainProblem(host));
  if (user !== null && (typeof user !== 'string' || user.length > 320 || /\p{Cc}/u.test(user)))
    note('user', 'Give a name of at most 320 characters on one line.');
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return { host, port, security, user, ...(savesSent !== null && { savesSent }) } as MailServerSettings;
}

/** The address of an account; values of other types are returned unchanged, for the schema of the field to refuse. */
export function parseAddress(input: unknown): unknown {
  if (typeof input !== 'string') return input; // its schema says what is wrong
  const address = normaliseAddress(input);
  if (address !== null) return address;
  throw invalidValues({ address: 'Give one e-mail address, such as ann@example.com.' });
}

/** An address as it is stored; null for text that is no address, or that could end a header. */
export function normaliseAddress(input: unknown): string | null {
  if (typeof input !== 'string') return null;
  const address = normaliseEmail(input);
  return isEmail(address) && !/[\p{Cc},;<>"]/u.test(address) ? address : null;
}
