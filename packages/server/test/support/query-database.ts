import pg from 'pg';

/** Runs statements on a separate connection. @returns the rows of a single statement. */
export async function queryDatabase(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = await connectDatabase(url);
  const { rows } = await client.query(text).finally(() => client.end());
  return rows;
}

/** A connection for several statements. The caller must end it. */
export async function connectDatabase(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}
