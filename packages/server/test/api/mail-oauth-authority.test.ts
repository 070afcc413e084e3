/** An OAuth issuer in the network of the operator, with a certificate of a private certificate authority. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer } from '../support/mail-account-server.ts';
import { getSharedCertificate } from '../support/mail-certificate.ts';
import { createTestServices } from '../support/mail-connection.ts';
import { OauthIssuer } from '../support/oauth-issuer.ts';
import type { TestServer } from '../support/scenario.ts';

const certificate = getSharedCertificate();
let issuer: OauthIssuer;
beforeAll(async () => {
  issuer = await OauthIssuer.start(certificate);
});
afterAll(() => issuer?.stop());

describeEngines('an OAuth issuer with a private authority', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tablinum-authority-'));
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, certificate.ca);
    const env = { MAIL_CA_FILE: caFile, OUTBOUND_ALLOW: '127.0.0.1', PUBLIC_URL: 'https://data.example.com' };
    server = await startMailAccountServer(engine, env);
    rmSync(folder, { recursive: true });
  });
  afterAll(() => server?.stop());

  test('with MAIL_CA_FILE, users can sign in', async () => {
    const oauth = issuer.settings;
    const body = { address: 'alice@example.test', auth: 'oauth2', oauth, clientSecret: 'client-secret-1' };
    const { id } = await server.data('POST /api/accounts:create', { as: 'ann', body });
    const { url } = await server.data(`POST /api/accounts:authorize?filterByTk=${id}`, { as: 'ann' });
    const { state, code } = issuer.signIn(url);
    const finished = await server.data('POST /api/accounts:finishAuthorization', { as: 'ann', body: { state, code } });
    expect(finished).toEqual({ id, signedIn: true });
  });
});

test('without MAIL_CA_FILE, the problem names the setting', async () => {
  const { servers } = createTestServices([]).oauth;
  await expect(servers.findEndpoints({ ...issuer.settings, provider: null })).rejects.toMatchObject({
    code: 'tlsUntrusted',
    retry: 'never',
    cure: expect.stringContaining('MAIL_CA_FILE'),
  });
});

test('other HTTP requests do not trust the authority', async () => {
  const { outbound, oauth } = createTestServices([certificate.ca]);
  await expect(oauth.servers.findEndpoints({ ...issuer.settings, provider: null })).resolves.toMatchObject({
    token: `${issuer.url}/token`,
  });
  await expect(outbound.get(issuer.url, {}, 100)).rejects.toThrow('UNABLE_TO_VERIFY');
});
