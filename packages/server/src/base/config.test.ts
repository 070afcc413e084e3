import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig } from './config.ts';

describe('configuration', () => {
  test('has a default for every setting', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 4180,
      dataDir: './data',
      databaseUrl: null,
      appKeyIsRandom: true,
      rateLimitCredential: { points: 6000, seconds: 10 },
      rateLimitAnonymous: { points: 100, seconds: 10 },
      rateLimitSignIn: { points: 10, seconds: 60 },
    });
    expect(readConfig({}).appKey).not.toBe(readConfig({}).appKey);
  });

  test('a secret may be given in a file or in the environment, but not in both', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tablinum-config-'));
    const path = join(folder, 'key');
    writeFileSync(path, 'from a file\n');
    expect(readConfig({ APP_KEY_FILE: path })).toMatchObject({ appKey: 'from a file', appKeyIsRandom: false });
    expect(() => readConfig({ APP_KEY_FILE: path, APP_KEY: 'x' })).toThrow(/APP_KEY and APP_KEY_FILE are both set/);
    expect(() => readConfig({ APP_KEY_FILE: join(folder, 'none') })).toThrow(/APP_KEY_FILE names cannot be read/);
    rmSync(folder, { recursive: true });
  });

  test.each([
    [{ PORT: '65536' }, /^PORT must be/],
    [{ PORT: '80a' }, /^PORT must be/],
    [{ PORT: '4190' }, /^PORT must not be 4190: browsers refuse/],
    [{ DATABASE_URL: 'mysql://x' }, /^DATABASE_URL must start/],
    [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL must be/],
    [{ CITUS_PLACEMENT: 'worker1' }, /^CITUS_PLACEMENT must be fewest, smallest, or addresses/],
    [{ RATE_LIMIT_ANONYMOUS: '100' }, /^RATE_LIMIT_ANONYMOUS must look like/],
    [{ RATE_LIMIT_CREDENTIAL: '0/10s' }, /^RATE_LIMIT_CREDENTIAL must look like/],
    [{ READERS: '65' }, /^READERS must be a whole number from 0 to 64/],
    [{ READERS: '1', DATABASE_URL: 'postgres://x' }, /^READERS is for SQLite, but DATABASE_URL is set/],
    [{ READER_THREADS: '0' }, /^READER_THREADS must be/],
    [{ SMTP_URL: 'http://x' }, /^SMTP_URL must look like/],
    [{ SMTP_URL: 'smtp://x' }, /^SMTP_FROM is missing/],
    [{ SMTP_URL: 'smtp://x', SMTP_FROM: 'a@b.de' }, /^PUBLIC_URL is missing/],
    [{ PUBLIC_URL: 'javascript:x' }, /^PUBLIC_URL must look like/],
    [{ CORS_ORIGINS: 'https://a.de/path' }, /^CORS_ORIGINS contains "https:\/\/a.de\/path"/],
    [{ CORS_ORIGINS: 'a.de' }, /^CORS_ORIGINS contains/],
    [{ TRUSTED_PROXIES: '10.0.0.0/33' }, /^TRUSTED_PROXIES contains/],
    [{ TRUSTED_PROXIES: 'proxy.example.com' }, /^TRUSTED_PROXIES contains/],
  ])('an invalid value is refused and names its setting: %o', (env, message) => {
    expect(() => readConfig(env as Record<string, string>)).toThrow(message);
  });

  test.each(['changeme', 'test-key', 'Test_Key', 'your-secret-key', 'my-app-key', 'secret123', '12345678'])(
    'a well-known example is not accepted as APP_KEY: %s',
    (APP_KEY) => {
      expect(() => readConfig({ APP_KEY })).toThrow(/^APP_KEY is a well-known example/);
    },
  );

  test('the value off disables a limit', () => {
    expect(readConfig({ RATE_LIMIT_SIGN_IN: 'off' }).rateLimitSignIn).toBeNull();
  });
});
