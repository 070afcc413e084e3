import type { Transaction } from './database.ts';

/**
 * Runs a part of a transaction that can fail without ending it: if `work` rejects, only its changes are undone.
 *
 * @throws what `work` throws, after its changes are undone.
 */
export async function withSavepoint<T>(
  transaction: Transaction,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const durableWork: (() => void)[] = [];
  const part: Transaction = {
    run: (statement) => transaction.run(statement),
    touch: (table) => transaction.touch(table),
    afterDurable: (each) => void durableWork.push(each),
  };
  await transaction.run({ text: 'SAVEPOINT part', values: [] });
  try {
    const result = await work(part);
    await transaction.run({ text: 'RELEASE SAVEPOINT part', values: [] });
    for (const each of durableWork) transaction.afterDurable(each);
    return result;
  } catch (error) {
    // If the connection is lost, the first error says so.
    await transaction.run({ text: 'ROLLBACK TO SAVEPOINT part', values: [] }).catch(() => {});
    await transaction.run({ text: 'RELEASE SAVEPOINT part', values: [] }).catch(() => {});
    throw error;
  }
}
