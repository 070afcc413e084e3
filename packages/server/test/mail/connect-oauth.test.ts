/** Signing in to mail servers by OAuth 2. */
import { describe, expect, test } from 'vitest';
import type { ServerLogin } from '../../src/mail/connect/server-login.ts';
import { loginAs, readProblem } from '../support/mail-connection.ts';
import { useConnections } from '../support/use-connections.ts';

const { faultyImap, smtpRelay, imap, smtp } = useConnections();

describe('OAuth 2', () => {
  const auth = { kind: 'oauth2', accessToken: 'token-1' } as const;

  test('IMAP uses OAUTHBEARER if the server offers it, otherwise XOAUTH2', async () => {
    for (const mechanism of ['OAUTHBEARER', 'XOAUTH2']) {
      const seen: string[] = [];
      const capabilities = [
        'IMAP4rev1',
        'SASL-IR',
        'AUTH=XOAUTH2',
        ...(mechanism === 'OAUTHBEARER' ? ['AUTH=OAUTHBEARER'] : []),
      ];
      const faulty = await faultyImap({
        capabilities,
        refuseLogin: ({ line }) => {
          seen.push(line);
          return null;
        },
      });
      const client = await imap(loginAs({ port: faulty.port, auth }));
      const [name, payload = ''] = seen[0]!.split(' ');
      expect(name).toBe(mechanism);
      expect(Buffer.from(payload, 'base64').toString()).toContain('auth=Bearer token-1');
      await client.logout();
    }
  });

  test('a refused token is renewed once; if the new one is refused too, the user must sign in again', async () => {
    const tokens: string[] = [];
    const faulty = await faultyImap({
      capabilities: ['IMAP4rev1', 'SASL-IR', 'AUTH=XOAUTH2'],
      refuseLogin: ({ line }) => {
        tokens.push(/Bearer ([\w-]+)/.exec(Buffer.from(line.split(' ')[1]!, 'base64').toString())![1]!);
        return tokens.at(-1) === 'good' ? null : '[AUTHENTICATIONFAILED] Invalid credentials (Failure)';
      },
    });
    const login = loginAs({ port: faulty.port });
    const renewing = (accessToken: string): ServerLogin => ({
      ...login,
      auth: { ...auth, renew: async () => ({ ...login, auth: { kind: 'oauth2', accessToken } }) },
    });
    const client = await imap(renewing('good'));
    await client.logout();
    expect(tokens).toEqual(['token-1', 'good']);
    expect(await readProblem(imap(renewing('bad')))).toMatchObject({
      code: 'tokenRevoked',
      retry: 'never',
      message: 'mail.example.test does not let this server act for alice@example.test any more.',
      cure: 'Sign in with the mail provider again.',
    });
    expect(tokens).toEqual(['token-1', 'good', 'token-1', 'bad']);
  });

  test('SMTP signs in with XOAUTH2, and a refused token is not reported as a wrong password', async () => {
    const relay = await smtpRelay({ users: { 'alice@example.test': 'token-1' }, authMethods: ['XOAUTH2'] });
    const session = await smtp(loginAs({ port: relay.tlsPort, auth }));
    await session.send({ from: 'alice@example.test', to: ['bob@example.net'] }, Buffer.from('x'));
    expect(relay.received).toMatchObject([{ user: 'alice@example.test' }]);
    session.close();
    const old = { kind: 'oauth2', accessToken: 'old' } as const;
    expect(await readProblem(smtp(loginAs({ port: relay.tlsPort, auth: old })))).toMatchObject({
      code: 'tokenRevoked',
    });
  });
});
