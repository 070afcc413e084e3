import { expect, test } from 'vitest';
import { MailServerProblem } from './mail-server-problem.ts';
import type { ServerLogin } from './server-login.ts';
import {
  cleanServerLine,
  cleanServerText,
  isServerName,
  isServerPath,
  readResponseCode,
  readServerId,
  selectServerNames,
} from './server-text.ts';
import { toMailServerProblem } from './to-mail-server-problem.ts';

const login: ServerLogin = {
  protocol: 'imap',
  host: 'mail.example.test',
  port: 993,
  security: 'tls',
  user: 'ann',
  auth: { kind: 'password', password: 'secret-ann' },
};

test('a reply becomes one line without control characters, direction marks and lone surrogates', () => {
  expect(cleanServerLine('Disk\0is\r\nfull\u202e \ud800!')).toBe('Disk is full \ufffd!');
  for (const nothing of ['', ' \0\r\n', null, undefined, 7]) expect(cleanServerLine(nothing)).toBeNull();
});

test('a long reply is truncated between characters', () => {
  const text = cleanServerLine(`${'x'.repeat(198)}😀 and more`);
  expect(text).toBe(`${'x'.repeat(198)}…`);
  expect(cleanServerLine('😀'.repeat(1000), 500)).toHaveLength(499);
  expect(cleanServerLine('x'.repeat(200))).toHaveLength(200);
});

test('a reply that contains the password anywhere is not shown', () => {
  expect(cleanServerText(`${'x '.repeat(50_000)}secret-ann`, login)).toBeNull();
  expect(cleanServerText('Disk is full', login)).toBe('Disk is full');
});

test('names and ids are used unchanged or not at all', () => {
  for (const name of ['$Forwarded', '\\Seen', 'Büro & Heim', '1278455344230334865', 'x'.repeat(255)])
    expect(readServerId(name)).toBe(name);
  for (const name of [
    '',
    'a\0b',
    'a\r\nb',
    '\u0085',
    '\u2028',
    '\ud800',
    'a\udc00',
    'x'.repeat(256),
    null,
    undefined,
    7,
  ])
    expect(readServerId(name), String(name).slice(0, 10)).toBeNull();
  expect(isServerName('//', 1)).toBe(false);
  for (const path of ['Work\t2', 'x'.repeat(1000)]) expect(isServerPath(path)).toBe(true);
  for (const path of ['', 'a\0b', '\ud800', 'x'.repeat(1001)]) expect(isServerPath(path)).toBe(false);
});

test('if there are too many names, always the same ones are selected, including the standard flags', () => {
  const many = Array.from({ length: 5000 }, (_, index) => `work${index}`);
  const names = selectServerNames(['a\0b', ...many, '\\Seen', '\\Seen']);
  expect(names).toHaveLength(500);
  expect(names).toContain('\\Seen');
  expect(selectServerNames(['\\Seen', ...many.toReversed()])).toEqual(names);
  expect(selectServerNames(['b', 'a', 'b'])).toEqual(['b', 'a']);
});

test('a response code is a word', () => {
  expect(readResponseCode('overquota')).toBe('OVERQUOTA');
  for (const code of ['', 'A\0B', 'A B', 'X'.repeat(41), 7, null]) expect(readResponseCode(code)).toBeNull();
});

test('a server cannot make an account wait for more than a day', () => {
  const waits = [120, 1e300, Number.POSITIVE_INFINITY, Number.NaN, -1, 'soon', undefined].map((throttleReset) => {
    const problem = toMailServerProblem(Object.assign(new Error('slow'), { code: 'ETHROTTLE', throttleReset }), login);
    expect(problem).toBeInstanceOf(MailServerProblem);
    return problem.waitMilliseconds;
  });
  expect(waits).toEqual([120, 86_400_000, 86_400_000, null, null, null, null]);
});
