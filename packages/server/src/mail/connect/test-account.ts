/** Signs in to the servers of an account to find out whether its settings are right. */
import { readAccountLogin } from '../../database/mail/account-login-rows.ts';
import type { MailServerSettings } from '../rules/account-values.ts';
import type { LoginParts } from './access-token.ts';
import { normaliseMailHost } from './guarded-connection.ts';
import { loadLogin } from './load-login.ts';
import { MailServerProblem } from './mail-server-problem.ts';
import { type OpenParts, openImap } from './open-imap.ts';
import { openSmtp } from './open-smtp.ts';
import type { ServerLogin } from './server-login.ts';
import { toContext, toMailServerProblem } from './to-mail-server-problem.ts';

/** Settings to test. Absent ones are those of the stored account. */
export interface TestedSettings {
  readonly imap?: MailServerSettings;
  readonly smtp?: MailServerSettings;
  readonly password?: string;
  readonly smtpPassword?: string;
}

/** What to test: an account as stored, with other settings, or one that does not exist yet. */
export interface AccountTest {
  readonly address: string;
  /** The stored account; null: it does not exist yet. */
  readonly account: number | null;
  readonly settings: TestedSettings;
}

/** What became of the test of one side; null where there is no server to test. */
export type SideResult = { readonly problem: MailServerProblem | null } | null;

export interface AccountTestResult {
  readonly imap: SideResult;
  readonly smtp: SideResult;
}

/** Signs in on both sides at the same time. Nothing is stored, except a renewed access token. */
export async function testAccount(
  test: AccountTest,
  parts: LoginParts & Pick<OpenParts, 'services' | 'logger' | 'signal'>,
): Promise<AccountTestResult> {
  const stored = test.account === null ? null : await readAccountLogin(parts.database, test.account);
  const side = async (protocol: ServerLogin['protocol']): Promise<SideResult> => {
    const known = (stored?.[protocol] ?? null) as MailServerSettings | null;
    const server = test.settings[protocol] ?? known;
    if (server === null) return null;
    try {
      await trySide(await createLogin(test, protocol, { server, known }, parts), parts);
      return { problem: null };
    } catch (error) {
      parts.signal?.throwIfAborted();
      if (error instanceof MailServerProblem) return { problem: error };
      throw error;
    }
  };
  const [imap, smtp] = await Promise.all([side('imap'), side('smtp')]);
  return { imap, smtp };
}

interface ServerChoice {
  readonly server: MailServerSettings;
  /** The server that is stored. */
  readonly known: MailServerSettings | null;
}

/**
 * A stored secret is only sent to the server that it was stored for.
 *
 * @throws MailServerProblem if there is no secret for the server.
 */
async function createLogin(
  { account, address, settings }: AccountTest,
  protocol: ServerLogin['protocol'],
  { server, known }: ServerChoice,
  parts: LoginParts,
): Promise<ServerLogin> {
  const { host, port, security } = server;
  const user = server.user ?? settings.imap?.user ?? address;
  const base = { protocol, host, port, security, user };
  const password = (protocol === 'smtp' ? settings.smtpPassword : undefined) ?? settings.password;
  if (password !== undefined) return { ...base, auth: { kind: 'password', password } };
  if (account !== null && known !== null && isSameServer(server, known)) {
    const login = await loadLogin(parts, account, protocol);
    return { ...login, user: server.user ?? login.user };
  }
  throw new MailServerProblem('notConfigured', toContext(base), {
    message: `There is no password for ${host}.`,
    cure:
      account === null
        ? 'Enter the password of the account.'
        : 'Enter the password again: a stored password is only sent to the server that it was stored for.',
  });
}

function isSameServer(a: MailServerSettings, b: MailServerSettings): boolean {
  return normaliseMailHost(a.host) === normaliseMailHost(b.host) && a.port === b.port && a.security === b.security;
}

/** Some servers accept a sign-in and then refuse every command, so IMAP lists the mailboxes too. */
async function trySide(login: ServerLogin, parts: Pick<OpenParts, 'services' | 'logger' | 'signal'>): Promise<void> {
  if (login.protocol === 'smtp') {
    const session = await openSmtp(login, parts);
    session.close();
    return;
  }
  const client = await openImap(login, parts, { disableAutoIdle: true });
  try {
    await client.list({ listOnly: true });
  } catch (error) {
    throw toMailServerProblem(error, login);
  } finally {
    client.close();
  }
}
