/** Fills tables that a product has created in PostgreSQL, because the products cannot create many records quickly. */
import pg from 'pg';

export class Filler {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Opens a connection for the work, and closes it whatever happens. */
  static async on(url: string, work: (filler: Filler) => Promise<void>): Promise<void> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      await work(new Filler(client));
    } finally {
      await client.end();
    }
  }

  query(text: string): Promise<unknown> {
    return this.#client.query(text);
  }

  /** @param row of an index from 1 on, by column. */
  async insert(table: string, count: number, row: (index: number) => object): Promise<void> {
    const columns = Object.keys(row(1))
      .map((name) => `"${name}"`)
      .join(', ');
    for (let from = 1; from <= count; from += 5000) {
      const rows = Array.from({ length: Math.min(5000, count - from + 1) }, (_, index) => row(from + index));
      await this.#client.query(
        `INSERT INTO "${table}" (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::"${table}", $1)`,
        [JSON.stringify(rows)],
      );
    }
  }

  /** Lets the next record have the identifier after `count`. */
  async continueAfter(table: string, count: number): Promise<void> {
    await this.#client.query(`SELECT setval(pg_get_serial_sequence('"${table}"', 'id'), ${count})`);
  }
}
