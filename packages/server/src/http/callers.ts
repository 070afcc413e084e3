/** Identifies the caller of a request: credential, role and client address. Applies the rate limits of both. */
import { timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { mainApplicationName } from '../applications/application.ts';
import type { Lease } from '../applications/application-lease.ts';
import type { Applications } from '../applications/applications.ts';
import { verifyAddress } from '../files/signed-address.ts';
import { anonymous, operator, parseBearerToken, withRole } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isForwarded, isLoopback, toNetwork } from './network.ts';
import type { RateLimits } from './rate-limits.ts';

export interface CallersParts {
  readonly applications: Applications;
  readonly limits: RateLimits;
  /** Whether trusted proxies pass on the addresses of their clients. */
  readonly isBehindProxies: boolean;
  /** The credential of the command line on this machine. */
  readonly operatorToken: string;
  /** The address that the server listens on. */
  readonly host: string;
}

/** Authenticates the caller of a request, and counts the request for the rate limits. */
export class Callers {
  readonly #parts: CallersParts;

  constructor(parts: CallersParts) {
    this.#parts = parts;
  }

  /**
   * The address that a trusted proxy passes on, if it is a valid IP address; otherwise the address of the connection.
   */
  readClientAddress({ ip, socket }: FastifyRequest): string {
    if (!this.#parts.isBehindProxies || isIP(ip) !== 0) return ip;
    return socket.remoteAddress ?? ip;
  }

  /**
   * The caller of a request: without a promise if the credential was verified before.
   *
   * @throws ApiError 401 for a credential that is not valid here, 403 for another application's key.
   */
  authenticate(request: FastifyRequest, lease: Lease, address: string): Caller | Promise<Caller> {
    const { headers } = request;
    const { authorization } = headers;
    if (authorization === undefined) return anonymous;
    if (authorization.startsWith('Bearer tbo_') && this.#isOperator(request)) return operator;
    const role = headers['x-role'] as string | undefined;
    const refuse = async (error: unknown): Promise<never> => {
      const wanted = headers['x-app'] as string | undefined;
      throw await this.#refusal(error, { lease, authorization, wanted, address });
    };
    try {
      const found = lease.application.authenticator.authenticate(parseBearerToken(authorization));
      if (!(found instanceof Promise)) return withRole(found, role);
      return found.then((caller) => withRole(caller, role)).catch(refuse);
    } catch (error) {
      return refuse(error);
    }
  }

  /**
   * The caller for whom an address of a file was signed, with the permissions that the credential has now.
   *
   * @throws ApiError 401 for an address that is not valid now.
   */
  async authenticateAddress(
    signature: string,
    file: string | null,
    { application }: Lease,
    address: string,
  ): Promise<Caller> {
    const { name, clock, authenticator } = application;
    const sign = (text: string): string[] => application.hashTokenWithAllKeys(text);
    try {
      const place = { application: name, file, now: clock.now() };
      const { type, credentialId, role } = verifyAddress(signature, place, sign);
      return withRole(await authenticator.resume(type, credentialId), role);
    } catch (error) {
      this.#parts.limits.countAnonymous(address); // as for tokens that are not valid
      throw error;
    }
  }

  /** Counts a request. @throws ApiError 429 past the limit. */
  count({ application }: Lease, caller: Caller, address: string): void {
    if (caller.type === 'anonymous') this.#parts.limits.countAnonymous(address);
    else this.#parts.limits.countCredential(application.name, caller);
  }

  /** Whether a request has the token of this start, and comes from this machine without a proxy. */
  #isOperator({ headers, raw }: FastifyRequest): boolean {
    const { operatorToken, host } = this.#parts;
    const given = Buffer.from(headers.authorization ?? '');
    const expected = Buffer.from(`Bearer ${operatorToken}`);
    const from = raw.socket.remoteAddress ?? '';
    const isLocal = isLoopback(from) || from === host;
    return isLocal && !isForwarded(headers) && given.length === expected.length && timingSafeEqual(given, expected);
  }

  /** Distinguishes a credential that is valid in another application from one that is not valid anywhere. */
  async #refusal(error: unknown, { lease, authorization, wanted, address }: RefusedCredential): Promise<unknown> {
    if (!(error instanceof ApiError) || error.label !== 'Unauthorized') return error;
    // The tokens of an application that cannot be opened now, such as one that is just being moved, cannot be verified.
    if (lease.error?.code === 'BUSY' && error.code === 'TOKEN_INVALID') return lease.error;
    // Guesses of tokens count for the limit of callers without a credential.
    this.#parts.limits.countAnonymous(address);
    if (error.code !== 'TOKEN_INVALID' || !/^Bearer \S+$/.test(authorization)) return error;
    const { applications } = this.#parts;
    const token = parseBearerToken(authorization);
    if (lease.error?.code === 'APPLICATION_STOPPED' && (await applications.isLoginValidInStopped(token, wanted!)))
      return lease.error;
    if (lease.error?.code === 'APPLICATION_FAILED' && (await applications.isLoginOfFailed(token, wanted!)))
      return lease.error;
    if (!(await applications.isKeyValidElsewhere(token, lease.application.name))) return error;
    return (
      lease.error ??
      new ApiError(
        'APPLICATION_MISMATCH',
        `The API key does not belong to the application "${wanted ?? mainApplicationName}". Name its application in X-App.`,
      )
    );
  }
}

interface RefusedCredential {
  readonly lease: Lease;
  readonly authorization: string;
  readonly wanted: string | undefined;
  readonly address: string;
}

/** The key of the memory limit for bodies: a user with all logins and keys, or a network. */
export function buildSenderKey({ application }: Lease, { type, user, credentialId }: Caller, address: string): string {
  if (type === 'anonymous') return toNetwork(address);
  return `${application.name} ${user ? `user ${user['id']}` : `${type} ${credentialId}`}`;
}
