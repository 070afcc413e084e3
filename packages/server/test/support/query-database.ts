import pg from 'pg';

/** Runs statements on a connection of its own. @returns the rows of a single statement. */
export async function queryDatabase(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(text).finally(() => client.end());
  return rows;
}
