import { readAccountLogin } from '../../database/mail/account-login-rows.ts';
import { getAccessToken, type LoginParts, readSecret } from './access-token.ts';
import { MailServerProblem, type ProblemContext } from './mail-server-problem.ts';
import type { ServerLogin } from './server-login.ts';
import { toContext } from './to-mail-server-problem.ts';

interface StoredServer {
  readonly host: string;
  readonly port: number;
  readonly security: ServerLogin['security'];
  readonly user: string | null;
}

/**
 * How an account signs in to its IMAP or SMTP server, with decrypted secrets. An access token that is about to expire is
 * refreshed first.
 *
 * The user name is that of the server, else that of the IMAP server, else the address. The password for SMTP is
 * `smtpPassword`, else `password`.
 *
 * @throws MailServerProblem if the settings are incomplete, or the sign-in with the provider has ended.
 */
export async function loadLogin(
  parts: LoginParts,
  account: number,
  protocol: ServerLogin['protocol'],
): Promise<ServerLogin> {
  const row = await readAccountLogin(parts.database, account);
  const server = row?.[protocol] as StoredServer | null | undefined;
  const none: ProblemContext = { protocol, host: '', port: 0, security: 'tls', user: row?.address ?? '' };
  if (!row || !server) throw new MailServerProblem('notConfigured', none);
  const { host, port, security } = server;
  const user = server.user ?? (row.imap as StoredServer | null)?.user ?? row.address;
  const base = { protocol, host, port, security, user };
  if (row.auth === 'oauth2') return createOauthLogin(parts, account, base, null);
  const password =
    (protocol === 'smtp' ? readSecret(parts, account, row, 'smtpPassword') : null) ??
    readSecret(parts, account, row, 'password');
  if (password === null) throw missingPassword(base, 'password' in row.secrets);
  return { ...base, auth: { kind: 'password', password } };
}

async function createOauthLogin(
  parts: LoginParts,
  account: number,
  base: Omit<ServerLogin, 'auth'>,
  refused: string | null,
): Promise<ServerLogin> {
  const accessToken = await getAccessToken(parts, account, toContext(base), refused);
  const renew = (): Promise<ServerLogin> => createOauthLogin(parts, account, base, accessToken);
  return { ...base, auth: { kind: 'oauth2', accessToken, ...(refused === null && { renew }) } };
}

/** @param isStored whether there is a password, which cannot be decrypted. */
function missingPassword(context: ProblemContext, isStored: boolean): MailServerProblem {
  if (!isStored)
    return new MailServerProblem('notConfigured', context, {
      message: `No password is stored for ${context.user}.`,
      cure: 'Enter the password of the account.',
    });
  return new MailServerProblem('notConfigured', context, {
    message: 'The stored password cannot be decrypted, because MAIL_SECRET_KEY has changed.',
    cure: 'Enter the password of the account again, or ask the operator to set MAIL_SECRET_KEY_PREVIOUS.',
  });
}
