/** Finds problems that prevent or endanger work with a PostgreSQL server, for `tablinum doctor`. It changes nothing. */
import pg from 'pg';
import { durableSettings, minServerVersion } from './postgres-open.ts';

/** A problem and what solves it. */
export interface PostgresProblem {
  readonly message: string;
  readonly cure: string;
  /** Whether a server would not start or not work. */
  readonly isFatal: boolean;
}

export interface PostgresCheck {
  readonly problems: readonly PostgresProblem[];
  /** The clock of PostgreSQL minus that of this process, in milliseconds. */
  readonly drift: number;
}

const connectMilliseconds = 5000;

/**
 * Opens a connection, which waits at most five seconds for a server that does not reply. @throws errors of the driver.
 */
export async function connectForCheck(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectMilliseconds });
  await client.connect();
  return client;
}

/** @param requiresDurability whether settings that can lose acknowledged writes are fatal. @throws errors of the driver. */
export async function checkPostgresServer(
  url: string,
  requiresDurability: boolean,
  connections: number,
): Promise<PostgresCheck> {
  const client = await connectForCheck(url);
  const problems: PostgresProblem[] = [];
  const add = (message: string, cure: string, isFatal: boolean): void => void problems.push({ message, cure, isFatal });
  const read = async (text: string): Promise<string> => {
    const { rows } = await client.query<Record<string, unknown>>(text);
    return String(Object.values(rows[0] ?? {})[0]);
  };
  try {
    if (Number(await read('SHOW server_version_num')) < minServerVersion)
      add('PostgreSQL is older than 15.', 'Update PostgreSQL.', true);
    for (const name of durableSettings)
      if ((await read(`SHOW ${name}`)) === 'off')
        add(
          `${name} is off: acknowledged writes can be lost in a crash.`,
          `ALTER SYSTEM SET ${name} = on; SELECT pg_reload_conf();`,
          requiresDurability,
        );
    if ((await read('SELECT pg_is_in_recovery()')) === 'true')
      add('The database server is a standby.', 'Set DATABASE_URL to the primary.', true);
    if ((await read("SELECT has_database_privilege(current_database(), 'CREATE')")) !== 'true')
      add('The role may not create schemas.', 'GRANT CREATE ON DATABASE … TO …;', true);
    if (Number(await read('SHOW max_connections')) < connections)
      add('max_connections is lower than DATABASE_CONNECTIONS.', 'Raise it, or lower DATABASE_CONNECTIONS.', false);
    const drift = Number(await read('SELECT extract(epoch FROM clock_timestamp()) * 1000')) - Date.now();
    return { problems, drift };
  } finally {
    await client.end().catch(() => {});
  }
}
