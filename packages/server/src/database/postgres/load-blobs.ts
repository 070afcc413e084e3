import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { nullIfNoFile } from '../backup-manifest.ts';
import { cutIntoParts } from '../blob-rows.ts';
import type { PostgresClient } from './postgres-client.ts';
import { runQuery } from './run-query.ts';

const insert = 'INSERT INTO _blobs (account,sha256,part,at,bytes) VALUES ($1,$2,$3,now(),$4) ON CONFLICT DO NOTHING';

/**
 * Loads the blobs of a folder, `<scope>/<aa>/<sha256>`, into the table `_blobs` of the current schema of the connection. Servers with a
 * bucket of files also read them from there.
 */
export async function loadBlobs(client: PostgresClient, folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(nullIfNoFile);
  for (const entry of entries ?? []) {
    if (!entry.isFile()) continue;
    const scope = Number(basename(dirname(entry.parentPath)));
    let part = 0;
    for await (const bytes of cutIntoParts(createReadStream(join(entry.parentPath, entry.name)))) {
      await runQuery(client, insert, [scope, entry.name, part, bytes]);
      part += 1;
    }
  }
}
