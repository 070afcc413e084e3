import { expect, onTestFinished, test } from 'vitest';
import { hashPassword, setCheapHashing, verifyPassword } from './password.ts';

const password = 'correct horse battery';

test('a hash is verified at the cost that it states, whatever the current cost is', async () => {
  onTestFinished(() => setCheapHashing(true));
  setCheapHashing(false);
  const full = await hashPassword(password);
  setCheapHashing(true);
  const cheap = await hashPassword(password);
  expect([full, cheap]).toEqual([
    expect.stringContaining('$m=19456,t=2,p=1$'),
    expect.stringContaining('$m=8,t=1,p=1$'),
  ]);
  for (const isCheap of [true, false]) {
    setCheapHashing(isCheap);
    for (const hash of [full, cheap]) {
      expect(await verifyPassword(password, hash, 'callers')).toBe(true);
      expect(await verifyPassword(`${password}!`, hash, 'callers')).toBe(false);
    }
  }
});
