import { expect, test } from 'vitest';
import { measureProcessorTime } from '../../../test/support/timing.ts';
import { computeMailIdentity } from './mail-identity.ts';

test('a message has the same identity in every file format', () => {
  const one = Buffer.from('From: a@b.example\r\nSubject: x\r\n\r\nHello\r\n');
  const same = Buffer.from('From: a@b.example\nStatus: RO\nX-Status: F\nSubject: x\n\nHello\n\n');
  expect(computeMailIdentity(same)).toBe(computeMailIdentity(one));
  for (const other of ['Subject: y', 'Status: delayed', 'X-Spam: yes'])
    expect(computeMailIdentity(Buffer.from(`From: a@b.example\nSubject: x\n${other}\n\nHello\n`))).not.toBe(
      computeMailIdentity(one),
    );
  expect(computeMailIdentity(Buffer.from('From: a@b.example\nSubject: x\n\nHello\nStatus: RO\n'))).not.toBe(
    computeMailIdentity(one),
  );
});

test.each(['A: b\r\n', 'abc\n', '\n', 'Status: R\n', '\r'])('20 MB of %j are hashed in linear time', async (line) => {
  const raw = Buffer.concat([Buffer.alloc(20 * 1024 * 1024, line), Buffer.from('x')]);
  expect(await measureProcessorTime(() => computeMailIdentity(raw))).toBeLessThan(5000);
});

test('a long message has the same identity wherever its chunks end', () => {
  const lines = (end: string): Buffer => Buffer.from(`A: b${end}${end}${'long '.repeat(209_714)}${end}end${end}${end}`);
  for (let more = 0; more < 6; more += 1) {
    const [one, other] = ['\n', '\r\n'].map((end) => Buffer.concat([Buffer.from('x'.repeat(more)), lines(end)]));
    expect(computeMailIdentity(one!)).toBe(computeMailIdentity(other!));
  }
});
