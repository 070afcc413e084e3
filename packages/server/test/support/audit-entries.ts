import type { Row } from '../../src/database/database.ts';
import type { Reply, TestServer } from './scenario.ts';

export interface AuditEntry {
  readonly id: number;
  readonly at: string;
  readonly actor: string | null;
  readonly credential: { type: string; id: number } | null;
  readonly role: string | null;
  readonly action: string | null;
  readonly target: string | null;
  readonly outcome: string;
  readonly code: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  readonly count: number;
  readonly hash: string;
}

/** Every entry of the journal of `main`, or of another application. */
export async function listAuditEntries(
  server: TestServer,
  more: Parameters<TestServer['call']>[1] = {},
): Promise<AuditEntry[]> {
  const reply: Reply = await server.call('GET /api/audit:list?paginate=false', more);
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.body.data as AuditEntry[];
}

/** Runs a statement on the journal's store without the server's knowledge. */
export async function runOnJournalStore(server: TestServer, text: string): Promise<Row[]> {
  const store = await server.running.applications.main.journal.openFlushedStore();
  return store.write(async (transaction) => {
    transaction.touch('*');
    return transaction.run({ text, values: [] });
  });
}

/** The result of `audit:verify`. */
export const verifyJournal = (
  server: TestServer,
): Promise<{ entries: number; from: string; to: string; valid: boolean; firstBroken: number | null }> =>
  server.data('GET /api/audit:verify');
