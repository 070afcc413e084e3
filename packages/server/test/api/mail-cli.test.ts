import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { runMailCommand } from '../../src/cli-mail.ts';
import { sqlite } from '../support/engines.ts';
import { startMailAccountServer } from '../support/mail-account-server.ts';
import type { TestServer } from '../support/scenario.ts';

/** The program talks HTTP only, so one engine is enough. */
describe('tablinum mail import', () => {
  let server: TestServer;
  let folder: string;
  const printed: string[] = [];
  beforeAll(async () => {
    server = await startMailAccountServer(sqlite);
    folder = mkdtempSync(join(tmpdir(), 'mail-cli-'));
    for (const method of ['log', 'error'] as const)
      vi.spyOn(console, method).mockImplementation((line: string) => void printed.push(line));
    vi.stubEnv('TABLINUM_TOKEN', server.tokens.get('ann')!);
  });
  beforeEach(() => void printed.splice(0));
  afterAll(async () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
    await server.stop();
  });

  const put = (path: string, bytes: string): string => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes, 'latin1');
    return join(folder, path.split('/')[0]!);
  };
  const run = (path: string, ...more: string[]): Promise<number> =>
    runMailCommand(['import', path, '--account', 'shop@example.com', '--url', server.running.url, ...more]);
  const rawOf = async (subject: string): Promise<string> => {
    const [{ id }] = await server.data(`GET /api/emails?filter={"subject":"${subject}"}`, { as: 'ann' });
    const response = await fetch(`${server.running.url}/api/emails/${id}?raw=1`, {
      headers: { authorization: `Bearer ${server.tokens.get('ann')}` },
    });
    return Buffer.from(await response.arrayBuffer()).toString('latin1');
  };

  test('keeps every byte, also of a message without a final line break, and stores flags separately', async () => {
    const raws = ['crlf', 'lf', 'unended', 'lines'].map(
      (name) => `Subject: ${name}\r\n\r\nFrom x\r\n\0\x89PNG\r\n\x1a\n`,
    );
    raws[1] = raws[1]!.replaceAll('\r\n', '\n');
    raws[2] += 'no end';
    raws[3] += '\r\n\r\n';
    put('box/cur/1700000000.a:2,FS', raws[0]!);
    put('box/cur/1700000001.b:2,', raws[1]!);
    put('box/cur/1700000002.c:2,S', raws[2]!);
    const path = put('box/new/1700000003.d', raws[3]!);
    expect(await run(path)).toBe(0);
    expect(printed.at(-1)).toBe('4 messages: 4 stored, 0 duplicates, 0 unparsable, 0 failed, 0 skipped');
    expect([await rawOf('crlf'), await rawOf('lf'), await rawOf('unended'), await rawOf('lines')]).toEqual(raws);
    const emails = await server.data('GET /api/emails:list?sort=receivedAt', { as: 'ann' });
    expect(
      emails.map(({ subject, read, starred, receivedAt }: Record<string, unknown>) => [
        subject,
        read,
        starred,
        receivedAt,
      ]),
    ).toEqual([
      ['crlf', true, true, '2023-11-14T22:13:20.000Z'],
      ['lf', false, false, '2023-11-14T22:13:21.000Z'],
      ['unended', true, false, '2023-11-14T22:13:22.000Z'],
      ['lines', false, false, '2023-11-14T22:13:23.000Z'],
    ]);
  });

  test('imports a Maildir, and puts messages marked as deleted into the trash unless they are also in another folder', async () => {
    put('moved/cur/1700000000.a:2,ST', 'Subject: moved\n\nx\n');
    put('moved/cur/1700000000.b:2,ST', 'Subject: deleted\n\nx\n');
    const path = put('moved/.Archive/cur/1700000000.a:2,S', 'Subject: moved\n\nx\n');
    expect(await run(path)).toBe(0);
    const folders = await server.data('GET /api/emails?filter={"subject":{"$in":["moved","deleted"]}}', { as: 'ann' });
    expect(folders.map(({ subject, folder: place }: Record<string, unknown>) => [subject, place]).toSorted()).toEqual([
      ['deleted', 'trash'],
      ['moved', 'archive'],
    ]);
  });

  test('imports the folders of a Thunderbird profile, without deleted messages and empty files', async () => {
    const message = (name: string, status = '0001'): string =>
      `From \nX-Mozilla-Status: ${status}\nSubject: ${name}\n\nx\n\n`;
    put('profile/Mail/Local Folders/Inbox', message('tb one') + message('tb two', '0009'));
    put('profile/Mail/Local Folders/Inbox.msf', 'x');
    put('profile/Mail/Local Folders/Inbox.sbd/Clients', message('tb three'));
    const path = put('profile/empty.eml', '');
    expect(await run(path)).toBe(0);
    expect(printed.at(-1)).toBe('4 messages: 2 stored, 0 duplicates, 0 unparsable, 0 failed, 2 skipped');
    expect(await server.data('GET /api/emails:list?folder=Inbox/Clients', { as: 'ann' })).toMatchObject([
      { subject: 'tb three' },
    ]);
  });

  test('reports where a message could not be separated from text', async () => {
    const path = put('doubt.mbox', 'From a Thu Aug 22 12:36:23 2002\nA: b\n\nFrom somebody else\nSubject: x\n\n');
    expect(await run(path)).toBe(0);
    expect(printed[0]).toMatch(/doubt\.mbox, message 1: A line in it may begin another message.* 38\.$/);
  });

  test('--json prints the report to the standard output only', async () => {
    const output: string[] = [];
    const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void output.push(line));
    const path = put('json.mbox', 'From a Thu Aug 22 12:36:23 2002\nSubject: j\n\nFrom somebody else\nSubject: x\n\n');
    expect(await run(path, '--json')).toBe(0);
    expect(await run(path, '--json')).toBe(0);
    expect(
      await runMailCommand(['rethread', '--account', 'shop@example.com', '--url', server.running.url, '--json']),
    ).toBe(0);
    log.mockImplementation((line: string) => void printed.push(line));
    const counts = { messages: 1, unparsable: 0, failed: 0, skipped: 0, problems: [] };
    expect(output.map((text) => JSON.parse(text))).toEqual([
      { ...counts, stored: 1, duplicates: 0 },
      { ...counts, stored: 0, duplicates: 1 },
      { conversations: expect.any(Number), changed: expect.any(Number) },
    ]);
    expect(printed.some((line) => line.includes('may begin another message'))).toBe(true);
  });

  test('refuses a folder without mail', async () => {
    put('nothing/Inbox.msf', 'x');
    expect(await run(put('nothing/notes.txt', 'From me'))).toBe(1);
    expect(printed.join('\n')).toMatch(/^Nothing was imported: no mail was found in .*nothing/);
  });

  test('reports an account that does not exist, and how to create it', async () => {
    const path = put('one.eml', 'Subject: x\n\nx\n');
    const sent = runMailCommand(['import', path, '--account', 'new@example.com', '--url', server.running.url]);
    await expect(sent).rejects.toThrow(
      /or create one with accounts:create.*\n.*Mail accounts; or\n.*accounts:create.*"address":"new@example.com"/,
    );
  });
});
