/** What the connections of all accounts of a server share. */
import type { Clock } from '../../base/clock.ts';
import { CachingDnsResolver, type DnsResolver } from '../../base/dns-resolver.ts';
import type { MailConfig, OauthClient } from '../../base/mail-config.ts';
import { OutboundClient } from '../../base/outbound.ts';
import { OutboundAllow } from '../../base/outbound-address.ts';
import { GuardedResolver, type Resolve } from '../../base/outbound-resolver.ts';
import { type ConnectionServices, connectLimits, createTrust } from './guarded-connection.ts';
import { OauthServers } from './oauth-server.ts';
import type { OauthPreset } from './providers.ts';

/** The registrations of this server at known providers, and its address. */
export interface OauthConfiguration {
  readonly clients: Readonly<Record<OauthPreset, OauthClient | null>>;
  /** The address to which providers send the browser back; null without PUBLIC_URL. */
  readonly publicUrl: string | null;
}

export interface ConnectServices extends ConnectionServices {
  /** Reads the service records and mail exchangers of domains. */
  readonly discoveryDns: DnsResolver;
  /** Fetches published settings of domains, and remote images. */
  readonly outbound: Pick<OutboundClient, 'get' | 'exchange'>;
  readonly oauth: OauthConfiguration & { readonly servers: OauthServers };
}

/** Replaces the network, in tests. */
export interface MailNetwork {
  readonly dns?: DnsResolver;
  /** Resolves the hosts of mail servers. */
  readonly resolveAddresses?: Resolve;
  readonly outbound?: Pick<OutboundClient, 'get' | 'exchange'>;
  /** Time limit of opening a connection. */
  readonly connectMilliseconds?: number;
}

export interface ConnectConfig extends MailConfig {
  /** The address of this server; it may change while the server runs. */
  readonly publicUrl: string | null;
  readonly outboundAllow: readonly string[] | OutboundAllow;
}

/**
 * Creates the shared parts. OAuth issuers are often in the same network as their mail servers, so `MAIL_CA_FILE` also applies to them.
 *
 * @param given the client for other requests by HTTP.
 */
export function createConnectServices(
  config: ConnectConfig,
  given: Pick<OutboundClient, 'get' | 'exchange'>,
  clock: Clock,
  network: MailNetwork = {},
): ConnectServices {
  const outbound = network.outbound ?? given;
  const allowed = new OutboundAllow(config.mailAllowedPrivateHosts);
  const secureContext = createTrust(config.mailCertificates);
  const issuers = network.outbound ?? new OutboundClient({ allow: config.outboundAllow, secureContext });
  return {
    allowed,
    discoveryDns: network.dns ?? new CachingDnsResolver(),
    outbound,
    resolver: new GuardedResolver(allowed, 'MAIL_ALLOWED_PRIVATE_HOSTS', network.resolveAddresses),
    connectMilliseconds: network.connectMilliseconds ?? connectLimits.totalMilliseconds,
    secureContext,
    oauth: {
      clients: config.mailOauthClients,
      get publicUrl(): string | null {
        return config.publicUrl;
      },
      servers: new OauthServers(issuers, clock),
    },
  };
}
