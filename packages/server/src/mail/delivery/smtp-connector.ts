import type { Tracing } from '../../base/tracing/tracing.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { LoginParts } from '../connect/access-token.ts';
import type { ConnectServices } from '../connect/connect-services.ts';
import { loadLogin } from '../connect/load-login.ts';
import { MailServerProblem } from '../connect/mail-server-problem.ts';
import type { SmtpClient } from '../connect/open-smtp.ts';
import { toMailServerProblem } from '../connect/to-mail-server-problem.ts';
import { type ReportParts, reportProblem } from '../sync/account-reports.ts';
import type { SmtpConnector } from './account-delivery.ts';

/** What connections to SMTP servers are opened with. */
export interface ConnectorParts extends LoginParts, ReportParts {
  readonly changes: ChangeLog;
  readonly services: LoginParts['services'] & ConnectServices & { readonly tracing: Tracing | null };
}

/** Opens connections by the settings of accounts, and adds what fails to the log of their problems. */
export function createSmtpConnector(parts: ConnectorParts): SmtpConnector {
  return {
    open: async (account, signal) => {
      const login = await loadLogin(parts, account, 'smtp');
      // What a failed recipient needs is loaded too, so that a missing library cannot lose an outcome.
      const [{ openSmtp }] = await Promise.all([import('../connect/open-smtp.ts'), import('./bounce-message.ts')]);
      try {
        const client = await openSmtp(login, { services: parts.services, signal });
        return parts.services.tracing ? traceSends(parts.services.tracing, client) : client;
      } catch (error) {
        throw signal.aborted ? error : toMailServerProblem(error, login);
      }
    },
    describe: (error) => {
      if (!(error instanceof MailServerProblem)) return null;
      const { code, message, cure } = error;
      return { code, message, cure };
    },
    report: (account, problem) => reportProblem(parts, account, { ...problem, source: 'delivery' }),
  };
}

/** Makes each message create a span. It contains the numbers of accepted and rejected recipients, but no addresses. */
function traceSends(tracing: Tracing, client: SmtpClient): SmtpClient {
  const send = client.send.bind(client);
  client.send = (envelope, message) =>
    tracing.trace({ name: 'send e-mail', kind: 'client', attributes: {} }, async (add) => {
      const result = await send(envelope, message);
      add('tablinum.recipients.accepted', result.accepted?.length ?? 0);
      add('tablinum.recipients.rejected', result.rejected?.length ?? 0);
      return result;
    });
  return client;
}
