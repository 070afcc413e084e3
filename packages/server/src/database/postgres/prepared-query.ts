import pg from 'pg';
import { serialize } from 'pg-protocol';
import type { Row } from '../database.ts';

/** Converts the text of a value, such as `'42'`, to the value. */
export type ColumnParser = (text: string) => unknown;

/** A statement that a connection has prepared, whose columns are known from an earlier run. */
export interface PreparedStatement {
  readonly name: string;
  readonly columns: readonly ColumnParser[];
}

const { prepareValue } = (pg as unknown as { readonly utils: { prepareValue(value: unknown): Buffer | string | null } })
  .utils;
const executeAndSync = Buffer.concat([serialize.execute(), serialize.sync()]);

/**
 * One run of a prepared statement. pg's own query asks for the columns each time, writes four messages, and makes an object with
 * listeners, a copy of the query and a result; a get by id takes a sixth less processor time without them (2026-11).
 */
export class PreparedQuery implements pg.Submittable {
  readonly #statement: PreparedStatement;
  readonly #values: readonly unknown[];
  readonly #settle: (error: Error | null, rows: Row[]) => void;
  readonly #rows: Row[] = [];

  /** @param settle is called when PostgreSQL is ready for the next query, or with an error. */
  constructor(
    statement: PreparedStatement,
    values: readonly unknown[],
    settle: (error: Error | null, rows: Row[]) => void,
  ) {
    this.#statement = statement;
    this.#values = values;
    this.#settle = settle;
  }

  /** @returns the error if a value cannot be sent. Nothing was sent then. */
  submit(connection: pg.Connection): Error | null {
    try {
      const values = this.#values as unknown[];
      const bound = serialize.bind({ statement: this.#statement.name, values, valueMapper: prepareValue });
      connection.stream.write(Buffer.concat([bound, executeAndSync]));
      return null;
    } catch (error) {
      return error as Error;
    }
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const { columns } = this.#statement;
    this.#rows.push(fields.map((text, index) => (text === null ? null : columns[index]?.(text))));
  }

  handleCommandComplete(): void {
    // the rows are complete when PostgreSQL is ready
  }

  handleReadyForQuery(): void {
    this.#settle(null, this.#rows);
  }

  handleError(error: Error): void {
    this.#settle(error, []);
  }
}
