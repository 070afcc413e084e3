import { ByteBudget } from './byte-budget.ts';
import { ConnectionSlots } from './connection-slots.ts';

/** Times and sizes of synchronisation. Tests use shorter ones. */
export interface SyncTimes {
  /** How long a server has the lease of an account without renewing it. */
  readonly leaseMilliseconds: number;
  readonly renewMilliseconds: number;
  /** How often a server looks for accounts to claim, for lost leases, and for operations of other servers. */
  readonly tickMilliseconds: number;
  /** How often the mailboxes besides the inbox are looked at. */
  readonly pollMilliseconds: number;
  /** After this time in IDLE, the connection is tested by a NOOP. */
  readonly probeMilliseconds: number;
  /** How long the server may take to answer the test. */
  readonly probeTimeoutMilliseconds: number;
  /** How long the server may take for a command whose answer is short. */
  readonly commandMilliseconds: number;
  /** How long the connection may be silent during a command: no byte arrives, and none can be sent. */
  readonly silenceMilliseconds: number;
  /** How long the server may take for the answer to one FETCH, whatever it contains. */
  readonly fetchMilliseconds: number;
  /** How often all messages are compared with the server's list. */
  readonly reconcileMilliseconds: number;
  /** The same for servers without CONDSTORE, which do not report changed flags. */
  readonly plainReconcileMilliseconds: number;
  /** How long the loss of most of a mailbox must last before it is believed. */
  readonly massLossMilliseconds: number;
  /** The wait after the first failure. It doubles with each further failure. */
  readonly retryMilliseconds: number;
  /** How long a connection must last after a completed synchronisation until earlier failures no longer lengthen the wait. */
  readonly stableMilliseconds: number;
  /** How long a connection is used before it is given up for an account that waits for one. */
  readonly minConnectionMilliseconds: number;
}

export const defaultSyncTimes: SyncTimes = {
  leaseMilliseconds: 27_000,
  renewMilliseconds: 9000,
  tickMilliseconds: 2000,
  pollMilliseconds: 45_000,
  probeMilliseconds: 240_000,
  probeTimeoutMilliseconds: 20_000,
  commandMilliseconds: 60_000,
  silenceMilliseconds: 120_000,
  fetchMilliseconds: 1_800_000,
  reconcileMilliseconds: 6 * 3_600_000,
  plainReconcileMilliseconds: 900_000,
  massLossMilliseconds: 30_000,
  retryMilliseconds: 2000,
  stableMilliseconds: 60_000,
  minConnectionMilliseconds: 120_000,
};

/** What the synchronisation of all applications of this server shares. */
export interface SyncServices {
  /** False: this server synchronises no accounts (`MAIL_SYNC=off`). */
  readonly isEnabled: boolean;
  readonly connections: ConnectionSlots;
  readonly bytes: ByteBudget;
  readonly times: SyncTimes;
}

/** Bytes of messages in memory at once, for all accounts. */
const maxBytes = 64 * 1024 * 1024;
/** Connections of this server. Large providers allow more than a hundred from one address. */
const connectionLimits = { perHost: 250, total: 1000 };

export function createSyncServices(isEnabled: boolean, times: Partial<SyncTimes> = {}): SyncServices {
  return {
    isEnabled,
    connections: new ConnectionSlots(connectionLimits),
    bytes: new ByteBudget(maxBytes),
    times: { ...defaultSyncTimes, ...times },
  };
}
