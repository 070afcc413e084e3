/**
 * A server whose mail accounts can be set to any state, and mail servers that fail in the ways that pages must explain.
 */
import { type AccountState, setAccountState } from '../../../server/src/database/mail/problem-rows.ts';
import {
  MailServerProblem,
  type ProblemCode,
  type ProblemContext,
  type ProblemDetails,
} from '../../../server/src/mail/connect/mail-server-problem.ts';
import { appendMailEvent } from '../../../server/src/mail/store/mail-events.ts';
import { reportProblem } from '../../../server/src/mail/sync/account-reports.ts';
import { silentLogger } from '../../../server/test/support/mail-connection.ts';
import type { TestServer } from '../../../server/test/support/scenario.ts';

const clock = { now: (): number => Date.now() };

/** Sets the state of an account as its synchronisation does, with the event that open pages follow. */
export async function setState(server: TestServer, account: number, state: AccountState): Promise<void> {
  const { database, changes } = server.running.applications.main;
  await database.write(async (transaction) => {
    await setAccountState(database, transaction, account, { state, isNewVersion: true });
    const parts = { changes, clock, actor: null, requestId: null };
    await appendMailEvent(transaction, parts, {
      name: 'accounts.status',
      keys: [account],
      changed: Object.keys(state),
    });
  });
}

/** A problem with its default texts, as an account stores it. */
export function describeProblem(
  code: ProblemCode,
  context: Partial<ProblemContext> = {},
  details: ProblemDetails = {},
): Readonly<Record<'code' | 'message' | 'cure' | 'at', string>> {
  const usual = { protocol: 'imap', host: 'imap.example.com', port: 993, security: 'tls', user: 'shop@example.com' };
  const problem = new MailServerProblem(code, { ...usual, ...context } as ProblemContext, details);
  return { code, message: problem.message, cure: problem.cure, at: new Date().toISOString() };
}

/** Adds a problem to the log of an account. */
export async function logProblem(
  server: TestServer,
  account: number,
  problem: Readonly<Record<'code' | 'message' | 'cure', string>>,
): Promise<void> {
  const { database, changes } = server.running.applications.main;
  const parts = { database, changes, clock, logger: silentLogger };
  await reportProblem(parts, account, { source: 'sync', ...problem });
}
