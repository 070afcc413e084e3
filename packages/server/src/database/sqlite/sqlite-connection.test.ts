import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { expect, test, vi } from 'vitest';
import { SqliteConnection } from './sqlite-connection.ts';

test('statements that leave the cache are finalized, and statements in use are not', () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
  const connection = new SqliteConnection(':memory:');
  try {
    const run = (text: string): void => expect(connection.run({ text, values: [] })).toEqual([[1]]);
    for (let shape = 0; shape < 2000; shape += 1) {
      run(`SELECT 1 AS number_${shape}`);
      run('SELECT 1');
    }
    run(`SELECT 1 WHERE '${'x'.repeat(100_000)}' <> ''`);
    expect(() => connection.run({ text: 'SELECT 1 FROM nothing', values: [] })).toThrow();
    const statements = prepare.mock.results.flatMap(({ type, value }) => (type === 'return' ? [value] : []));
    expect(statements.length).toBe(2002); // each was prepared once
    expect(statements.filter(isOpen).length).toBeLessThanOrEqual(400);
    expect(isOpen(statements[1]!)).toBe(true);
    expect(isOpen(statements.at(-1)!)).toBe(false);
    connection.close();
    expect(statements.filter(isOpen)).toEqual([]);
  } finally {
    prepare.mockRestore();
  }
});

function isOpen(statement: StatementSync): boolean {
  try {
    statement.all();
    return true;
  } catch (error) {
    expect((error as Error).message).toContain('finalized');
    return false;
  }
}
