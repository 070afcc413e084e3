/** Connections to the hosts that users have named: checked addresses, verified certificates, and limits. */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { findHostProblem, type OutboundAllow } from '../../base/outbound-address.ts';
import { createFixedLookup, type GuardedResolver, OutboundFailure, raceAbort } from '../../base/outbound-resolver.ts';
import type { ServerLogin } from './server-login.ts';

export const connectLimits = {
  /** Resolving the name, connecting, TLS, greeting and signing in, together. */
  totalMilliseconds: 30_000,
  /** One literal of an IMAP server, such as a message. */
  literalBytes: 64 * 2 ** 20,
  /** One reply of an IMAP server with all its literals. */
  responseBytes: 72 * 2 ** 20,
  /** One line of an IMAP server. */
  lineBytes: 16 * 2 ** 20,
  /** One reply of an SMTP server. */
  smtpReplyBytes: 64 * 2 ** 10,
} as const;

/** What connections to mail servers share. */
export interface ConnectionServices {
  /** Private hosts that accounts may name (`MAIL_ALLOWED_PRIVATE_HOSTS`). */
  readonly allowed: OutboundAllow;
  readonly resolver: Pick<GuardedResolver, 'resolve'>;
  /** Trusts further certificates (`MAIL_CA_FILE`); null: only the public authorities. */
  readonly secureContext: SecureContext | null;
  /** Time limit of opening a connection; {@link connectLimits.totalMilliseconds}, less in tests. */
  readonly connectMilliseconds: number;
}

/**
 * A context that trusts the public authorities and further certificates. It is made once, because parsing the
 * authorities takes milliseconds of processor time.
 *
 * @param certificates in PEM.
 */
export function createTrust(certificates: readonly string[]): SecureContext | null {
  if (certificates.length === 0) return null;
  return createSecureContext({ ca: [...getCACertificates('default'), ...certificates] });
}

/** The options of a TLS connection whose certificate must be for the host. */
export interface VerifiedTls {
  readonly host: string;
  /** Absent for an address, for which TLS has no name. */
  readonly servername?: string;
  readonly secureContext?: SecureContext;
  readonly rejectUnauthorized: true;
}

/** Options for TLS with a host: the certificate is verified for its name, whatever address it has. */
export function verifyTls(host: string, { secureContext }: ConnectionServices): VerifiedTls {
  return {
    host,
    ...(isIP(host) === 0 && { servername: host }),
    ...(secureContext && { secureContext }),
    rejectUnauthorized: true,
  };
}

/** A host in the form in which it is resolved: lower case, without brackets and trailing dot. */
export function normaliseMailHost(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
}

/**
 * Resolves a mail server once and checks its addresses.
 *
 * @returns a lookup that only gives the checked addresses.
 * @throws OutboundFailure for a host that is unknown, or that accounts may not use; PlainRefused for a public host without TLS.
 */
export async function pinHost(
  { host, security }: Pick<ServerLogin, 'host' | 'security'>,
  { allowed, resolver }: ConnectionServices,
  signal: AbortSignal,
): Promise<ReturnType<typeof createFixedLookup>> {
  const problem = findHostProblem(host, allowed, 'MAIL_ALLOWED_PRIVATE_HOSTS');
  if (problem !== null) throw new OutboundFailure(problem, true);
  const name = normaliseMailHost(host);
  const addresses = await raceAbort(resolver.resolve(name, signal), signal);
  const isPrivate = allowed.allowsHost(name) || addresses.every((each) => allowed.namesAddress(each));
  if (security === 'none' && !isPrivate) throw new PlainRefused(host);
  return createFixedLookup(addresses);
}

/** A public host was to be used without TLS. */
export class PlainRefused extends OutboundFailure {
  readonly cure = plainCure;

  constructor(host: string) {
    super(`${host} is a public host, and without TLS the password could be read on the way.`, true);
  }
}

const plainCure =
  'Set "security" to tls or starttls, or ask the operator to add the host to MAIL_ALLOWED_PRIVATE_HOSTS.';

/**
 * What is wrong with using a host without TLS, with the cure; null: nothing is known yet. Names that may resolve to an allowed address
 * are checked when they are resolved.
 */
export function findPlainProblem(host: string, allowed: OutboundAllow): string | null {
  const name = normaliseMailHost(host);
  const isAllowed = isIP(name) === 0 ? allowed.hasAddresses : allowed.namesAddress(name);
  return isAllowed || allowed.allowsHost(name) ? null : `A public host needs TLS. ${plainCure}`;
}

/** Opens a connection to a mail server: with TLS already, unless the login says otherwise. */
export async function openSocket(
  server: Pick<ServerLogin, 'host' | 'port' | 'security'>,
  services: ConnectionServices,
  signal: AbortSignal,
): Promise<Socket> {
  const { host: given, port, security } = server;
  const lookup = await pinHost(server, services, signal);
  const host = normaliseMailHost(given);
  const socket =
    security === 'tls'
      ? connectTls({ ...verifyTls(host, services), port, lookup })
      : connectTcp({ host, port, lookup });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once(security === 'tls' ? 'secureConnect' : 'connect', resolve);
  socket.on('error', reject); // this listener stays, so that an error before the next owner adds its own is not thrown
  socket.once('close', () => reject(Object.assign(new Error('The connection was closed.'), { code: 'ECONNRESET' })));
  try {
    await raceAbort(promise, signal);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** A connection that was not open within the time limit. */
class ConnectTimeout extends Error {
  readonly code = 'CONNECT_TIMEOUT';
}

/**
 * Runs the set-up of a connection within the time limit.
 *
 * @param outer aborts it.
 * @throws what the work throws; an error with the code `CONNECT_TIMEOUT` after the time limit; the reason of the signal.
 */
export async function withinTimeLimit<T>(
  { connectMilliseconds }: ConnectionServices,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(connectMilliseconds);
  const signal = outer ? AbortSignal.any([outer, limit]) : limit;
  try {
    return await work(signal);
  } catch (error) {
    outer?.throwIfAborted();
    throw limit.aborted ? new ConnectTimeout('The server did not reply in time.') : error;
  }
}
