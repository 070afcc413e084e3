import { describe, expect, test } from 'vitest';
import type { Database } from '../database.ts';
import { sqliteDialect } from '../sqlite/sqlite-dialect.ts';
import { AccountPresence } from './account-presence.ts';

/** A store with a number of accounts that changes. Statements end when the test says so. */
class CountingStore {
  accounts = 0;
  statements = 0;
  #waiting: (() => void)[] = [];

  readonly database = {
    dialect: sqliteDialect,
    read: () => {
      this.statements += 1;
      const rows = Array.from({ length: this.accounts }, () => [1]);
      return new Promise((resolve) => this.#waiting.push(() => resolve([rows])));
    },
  } as unknown as Database;

  end(): void {
    for (const each of this.#waiting.splice(0)) each();
  }
}

describe('the presence of accounts', () => {
  test('workers that run at the same time share a statement, and later workers use its result', async () => {
    const store = new CountingStore();
    const presence = new AccountPresence(store.database);
    let runs = 0;
    const work = async (): Promise<void> => {
      runs += 1;
    };
    const checks = [presence.runIfAny(work), presence.runIfAny(work), presence.mayHaveAny()];
    store.end();
    await Promise.all(checks);
    await presence.runIfAny(work);
    expect([store.statements, runs]).toEqual([1, 0]);
  });

  test('an account that is created while the statement runs is found', async () => {
    const store = new CountingStore();
    const presence = new AccountPresence(store.database);
    const before = presence.mayHaveAny();
    store.accounts = 1;
    presence.recheck();
    store.end();
    expect(await before).toBe(false);
    const after = presence.mayHaveAny();
    store.end();
    expect([await after, store.statements]).toEqual([true, 2]);
  });
});
