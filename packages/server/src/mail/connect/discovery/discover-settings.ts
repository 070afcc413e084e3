/** Finds the mail servers of an address: published, known or guessed, and each of them tried. */
import { domainToASCII } from 'node:url';
import type { ConnectServices } from '../connect-services.ts';
import { normaliseMailHost } from '../guarded-connection.ts';
import type { MailServerProblem } from '../mail-server-problem.ts';
import { type ProbeResult, probeServer } from '../probe-server.ts';
import { findProvider, findProviderOfDomain, findProviderOfExchanger, type MailProvider } from '../providers.ts';
import type { ServerEndpoint } from '../server-endpoints.ts';
import { findAutoconfigCandidates } from './autoconfig.ts';
import {
  type AddressParts,
  type Candidate,
  type CandidateSource,
  candidateSources,
  createCandidates,
  guessCandidates,
} from './candidates.ts';
import { findExchangers, findServiceCandidates } from './service-records.ts';

export const discoveryLimits = {
  /** The whole discovery. */
  totalMilliseconds: 25_000,
  /** Reading what the domain publishes by HTTP. */
  publishedMilliseconds: 6000,
  /** One attempt to connect. */
  probeMilliseconds: 8000,
  /** Candidates that are tried, for both sides together. */
  candidates: 24,
} as const;

/** A server to which a connection has succeeded. */
export interface DiscoveredServer extends ServerEndpoint {
  readonly user: string;
  readonly source: CandidateSource;
  /**
   * Whether the user should check the host before the password is sent to it: it was named by a service record, which
   * anybody on the way may have changed, and does not belong to the domain of the address (RFC 6186, section 6).
   */
  readonly needsConfirmation: boolean;
  readonly offersPassword: boolean;
  readonly offersOauth: boolean;
}

/** A candidate and what became of it. */
export interface TriedCandidate extends Candidate {
  readonly problem: MailServerProblem | null;
}

export interface Discovery {
  readonly provider: MailProvider | null;
  readonly imap: DiscoveredServer | null;
  readonly smtp: DiscoveredServer | null;
  readonly tried: readonly TriedCandidate[];
}

/** Connects to a candidate; replaced in tests of the order. @throws MailServerProblem */
export type Probe = (candidate: Candidate, signal: AbortSignal) => Promise<ProbeResult>;

/** The parts of an address, which the caller has checked; null for a domain that cannot exist. */
export function parseAddressParts(address: string): AddressParts | null {
  const at = address.lastIndexOf('@');
  const domain = domainToASCII(address.slice(at + 1));
  return domain === '' ? null : { address, localPart: address.slice(0, at), domain };
}

/**
 * Finds the servers of an address. Sources are tried in their order, all candidates of a source at the same time; the
 * first candidate of a side to which a connection succeeds is the result.
 */
export async function discoverSettings(
  address: AddressParts,
  services: ConnectServices,
  outer: AbortSignal,
  probe: Probe = createProbe(services),
): Promise<Discovery> {
  const limit = AbortSignal.timeout(discoveryLimits.totalMilliseconds);
  const search = new Search(address, services, AbortSignal.any([outer, limit]), probe);
  const found = await search.run().catch((error: unknown) => {
    outer.throwIfAborted();
    if (limit.aborted) return search.result();
    throw error;
  });
  return found;
}

function createProbe(services: ConnectServices): Probe {
  const limited = { ...services, connectMilliseconds: discoveryLimits.probeMilliseconds };
  return ({ protocol, server }, signal) => probeServer(protocol, server, limited, signal);
}

class Search {
  readonly #address: AddressParts;
  readonly #services: ConnectServices;
  readonly #signal: AbortSignal;
  readonly #probe: Probe;
  readonly #tried: TriedCandidate[] = [];
  readonly #found: { imap: DiscoveredServer | null; smtp: DiscoveredServer | null } = { imap: null, smtp: null };
  #provider: MailProvider | null = null;
  #exchangers: readonly string[] = [];
  /**
   * The published settings of the domain are read concurrently, because a domain without name servers takes seconds.
   */
  #published: { readonly [Source in 'srv' | 'autoconfig']: Promise<readonly Candidate[]> } | null = null;

  constructor(address: AddressParts, services: ConnectServices, signal: AbortSignal, probe: Probe) {
    this.#address = address;
    this.#services = services;
    this.#signal = signal;
    this.#probe = probe;
  }

  async run(): Promise<Discovery> {
    for (const source of candidateSources) {
      if (this.#found.imap && this.#found.smtp) break;
      await this.#try(await this.#find(source));
    }
    return this.result();
  }

  result(): Discovery {
    const { imap } = this.#found;
    return {
      provider: this.#provider ?? (imap && findProvider(imap.host)) ?? null,
      ...this.#found,
      tried: this.#tried,
    };
  }

  async #find(source: CandidateSource): Promise<readonly Candidate[]> {
    const { discoveryDns: dns, outbound } = this.#services;
    const address = this.#address;
    if (source === 'provider') return this.#useProvider(findProviderOfDomain(address.domain), source);
    if (source === 'srv' || source === 'autoconfig') {
      const published = AbortSignal.any([this.#signal, AbortSignal.timeout(discoveryLimits.publishedMilliseconds)]);
      this.#published ??= {
        srv: findServiceCandidates(address, dns),
        autoconfig: findAutoconfigCandidates(address, outbound, published),
      };
      return this.#published[source];
    }
    if (source === 'guess') return guessCandidates(address, this.#exchangers[0] ?? null);
    this.#exchangers = await findExchangers(address, dns);
    const provider = this.#exchangers.map((each) => findProviderOfExchanger(each)).find((each) => each !== undefined);
    return this.#useProvider(provider, source);
  }

  #useProvider(provider: MailProvider | undefined, source: CandidateSource): readonly Candidate[] {
    if (!provider) return [];
    this.#provider ??= provider;
    return createCandidates(provider, this.#address, source);
  }

  /** Tries the candidates of the sides that are not found yet. */
  async #try(candidates: readonly Candidate[]): Promise<void> {
    const isNew = ({ protocol, server }: Candidate): boolean =>
      this.#found[protocol] === null &&
      !this.#tried.some((each) => each.protocol === protocol && isSameServer(each.server, server));
    const chosen = candidates.filter(isNew).slice(0, discoveryLimits.candidates - this.#tried.length);
    const results = await Promise.all(chosen.map((candidate) => this.#tryOne(candidate)));
    chosen.forEach((candidate, index) => {
      const result = results[index];
      if (result) this.#found[candidate.protocol] ??= this.#toServer(candidate, result);
    });
  }

  async #tryOne(candidate: Candidate): Promise<ProbeResult | null> {
    this.#signal.throwIfAborted();
    try {
      const result = await this.#probe(candidate, this.#signal);
      this.#tried.push({ ...candidate, problem: null });
      return result;
    } catch (error) {
      this.#signal.throwIfAborted();
      this.#tried.push({ ...candidate, problem: error as MailServerProblem });
      return null;
    }
  }

  #toServer({ server, user, source }: Candidate, result: ProbeResult): DiscoveredServer {
    const host = normaliseMailHost(server.host);
    const isOwn = host === this.#address.domain || host.endsWith(`.${this.#address.domain}`);
    const needsConfirmation = source === 'srv' && !isOwn && findProvider(host) === undefined;
    return { ...server, host, user, source, needsConfirmation, ...result };
  }
}

function isSameServer(a: ServerEndpoint, b: ServerEndpoint): boolean {
  return normaliseMailHost(a.host) === normaliseMailHost(b.host) && a.port === b.port && a.security === b.security;
}
