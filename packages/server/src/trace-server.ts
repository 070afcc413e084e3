/** Adds traces to the stores and outgoing messages of a server. Only loaded if an endpoint for traces is set. */
import type { Config } from './base/config.ts';
import type { Logger } from './base/logger.ts';
import type { SystemMailer } from './base/system-mailer.ts';
import { Tracing } from './base/tracing/tracing.ts';
import { traceDatabase } from './database/traced-database.ts';
import type { OpenedStores } from './open-stores.ts';

/** Starts tracing, and makes all stores create spans for their statements. @returns null if no traces are sent. */
export function traceStores(
  { tracing: settings, databaseUrl }: Config,
  logger: Logger,
  opened: OpenedStores,
): { readonly opened: OpenedStores; readonly tracing: Tracing } | null {
  if (settings === null) return null;
  const tracing = new Tracing(settings, (message) => logger.warn(message));
  const engine = databaseUrl === null ? 'sqlite' : 'postgresql';
  const { stores } = opened;
  const traced: OpenedStores = {
    ...opened,
    stores: {
      ...stores,
      open: async (...parameters) => traceDatabase(await stores.open(...parameters), tracing, engine),
      openJournal: async (store) => {
        const journal = await stores.openJournal(store);
        return journal && traceDatabase(journal, tracing, engine);
      },
    },
  };
  return { opened: traced, tracing };
}

/** Makes the mailer create a span for each e-mail of the server itself, without recipients and content. */
export function traceSystemMail(tracing: Tracing, mailer: SystemMailer): void {
  const send = mailer.send.bind(mailer);
  mailer.send = (mail) => tracing.trace({ name: 'send e-mail', kind: 'client', attributes: {} }, () => send(mail));
}
