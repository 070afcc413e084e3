/** Makes a database create spans for its statements. Only loaded if traces are sent. */
import { readStatementShape } from '../base/tracing/statement-shape.ts';
import type { SpanDescription, Tracing } from '../base/tracing/tracing.ts';
import type { BoundStatement, Database, ImmediateTransaction, Row, Transaction } from './database.ts';

type Reads = Pick<Database, 'read'>;
/** The name of the engine, as OpenTelemetry writes it. */
export type TracedEngine = 'sqlite' | 'postgresql';

/**
 * Makes a store create a span for each statement of traced work. Statements of other work, such as timers, have no spans. The methods of the
 * object are replaced, so that a store without traces has no overhead.
 */
export function traceDatabase<Store extends Database>(database: Store, tracing: Tracing, engine: TracedEngine): Store {
  traceReads(database, tracing, engine);
  const write = database.write.bind(database);
  const writeNow = database.writeNow?.bind(database);
  const writeOne = database.writeOne.bind(database);
  const describe = createDescriber(engine);
  const traceTransaction = (transaction: Transaction): Transaction => ({
    run: (statement) => tracing.trace(describe([statement]), () => transaction.run(statement)),
    touch: (table) => transaction.touch(table),
    afterDurable: (work) => transaction.afterDurable(work),
  });
  const traceImmediate = (transaction: ImmediateTransaction): ImmediateTransaction => ({
    runNow: (statement) => tracing.trace(describe([statement]), () => transaction.runNow(statement)),
    insertNow: (statement) => tracing.trace(describe([statement]), () => transaction.insertNow(statement)),
    touch: (table) => transaction.touch(table),
    afterDurable: (work) => transaction.afterDurable(work),
  });
  const inSpan = <T>(work: () => T): T =>
    tracing.trace({ name: 'transaction', kind: 'internal', attributes: {} }, work);
  database.write = (work, options) =>
    tracing.isActive
      ? inSpan(() => write((transaction) => work(traceTransaction(transaction)), options))
      : write(work, options);
  if (writeNow)
    database.writeNow = (work, options) =>
      tracing.isActive
        ? inSpan(() => writeNow((transaction) => work(traceImmediate(transaction)), options))
        : writeNow(work, options);
  database.writeOne = (statement, touched, options) =>
    tracing.isActive
      ? tracing.trace(describe([statement]), () => tracing.quietly(() => writeOne(statement, touched, options)))
      : writeOne(statement, touched, options);
  return database;
}

/** Makes a store create spans for its reads. */
export function traceReads<Store extends Reads>(database: Store, tracing: Tracing, engine: TracedEngine): Store {
  const read = database.read.bind(database);
  const describe = createDescriber(engine);
  database.read = (statements: readonly BoundStatement[]): Row[][] | Promise<Row[][]> =>
    tracing.isActive
      ? tracing.trace(describe(statements), () => tracing.quietly(() => read(statements)))
      : read(statements);
  return database;
}

/** Several statements have one span, because they run in one read transaction. */
function createDescriber(engine: TracedEngine): (statements: readonly BoundStatement[]) => SpanDescription {
  return (statements) => {
    const shapes = statements.map(({ text }) => readStatementShape(text));
    const [{ operation = 'STATEMENT', table = null } = {}] = shapes;
    return {
      name: table === null ? operation : `${operation} ${table}`,
      kind: 'client',
      attributes: {
        'db.system.name': engine,
        'db.operation.name': operation,
        'db.query.text': shapes.map(({ text }) => text).join('; '),
        ...(statements.length > 1 && { 'db.operation.batch.size': statements.length }),
      },
    };
  };
}
