/** Well-known mail providers: their servers, and how they want to be signed in to. */
import { imaps, type MailEndpoints, type ServerEndpoint, smtps, submission } from './server-endpoints.ts';

/** The providers whose OAuth 2 endpoints this server knows. */
export type OauthPreset = 'google' | 'microsoft';

export interface MailProvider extends MailEndpoints {
  readonly name: string;
  /** Domains of its addresses. */
  readonly domains: readonly string[];
  /** Domains of its mail exchangers: addresses of other domains whose MX is below one of them belong to it too. */
  readonly exchangers: readonly string[];
  readonly oauth: OauthPreset | null;
  /** Where to create an app password, for providers that accept no other password; null: the usual password is right. */
  readonly appPasswordUrl: string | null;
}

interface ProviderOptions {
  readonly exchangers?: readonly string[];
  readonly oauth?: OauthPreset;
  readonly appPasswordUrl?: string;
}

function defineProvider(
  name: string,
  domains: string,
  [imap, smtp]: readonly [ServerEndpoint, ServerEndpoint],
  options: ProviderOptions = {},
): MailProvider {
  const { exchangers = [], oauth = null, appPasswordUrl = null } = options;
  return { name, domains: domains.split(' '), exchangers, imap, smtp, oauth, appPasswordUrl };
}

export const providers: readonly MailProvider[] = [
  defineProvider('Gmail', 'gmail.com googlemail.com', [imaps('imap.gmail.com'), smtps('smtp.gmail.com')], {
    exchangers: ['google.com', 'googlemail.com'],
    oauth: 'google',
    appPasswordUrl: 'https://myaccount.google.com/apppasswords',
  }),
  defineProvider(
    'Outlook.com',
    'outlook.com hotmail.com live.com msn.com outlook.de outlook.fr hotmail.co.uk hotmail.de hotmail.fr hotmail.it live.co.uk live.de live.fr live.nl passport.com',
    [imaps('outlook.office365.com'), submission('smtp-mail.outlook.com')],
    { exchangers: ['olc.protection.outlook.com'], oauth: 'microsoft' },
  ),
  defineProvider(
    'Microsoft 365',
    'onmicrosoft.com',
    [imaps('outlook.office365.com'), submission('smtp.office365.com')],
    {
      exchangers: ['mail.protection.outlook.com', 'mx.microsoft'],
      oauth: 'microsoft',
    },
  ),
  defineProvider('iCloud', 'icloud.com me.com mac.com', [imaps('imap.mail.me.com'), submission('smtp.mail.me.com')], {
    exchangers: ['mail.icloud.com'],
    appPasswordUrl: 'https://account.apple.com/account/manage',
  }),
  defineProvider(
    'Yahoo',
    'yahoo.com yahoo.co.uk yahoo.de yahoo.fr yahoo.it yahoo.es yahoo.co.in yahoo.ca yahoo.com.br ymail.com rocketmail.com',
    [imaps('imap.mail.yahoo.com'), smtps('smtp.mail.yahoo.com')],
    { exchangers: ['yahoodns.net'], appPasswordUrl: 'https://login.yahoo.com/account/security' },
  ),
  defineProvider('AOL', 'aol.com aim.com', [imaps('imap.aol.com'), smtps('smtp.aol.com')], {
    appPasswordUrl: 'https://login.aol.com/account/security',
  }),
  defineProvider('Fastmail', 'fastmail.com fastmail.fm', [imaps('imap.fastmail.com'), smtps('smtp.fastmail.com')], {
    exchangers: ['messagingengine.com'],
    appPasswordUrl: 'https://app.fastmail.com/settings/security/apps',
  }),
  defineProvider('GMX', 'gmx.net gmx.de gmx.at gmx.ch', [imaps('imap.gmx.net'), smtps('mail.gmx.net')], {
    exchangers: ['emig.gmx.net'],
  }),
  defineProvider('GMX', 'gmx.com gmx.us gmx.co.uk gmx.fr', [imaps('imap.gmx.com'), smtps('mail.gmx.com')]),
  defineProvider('mail.com', 'mail.com email.com usa.com', [imaps('imap.mail.com'), smtps('smtp.mail.com')]),
  defineProvider('WEB.DE', 'web.de', [imaps('imap.web.de'), submission('smtp.web.de')]),
  defineProvider('T-Online', 't-online.de magenta.de', [
    imaps('secureimap.t-online.de'),
    smtps('securesmtp.t-online.de'),
  ]),
  defineProvider('freenet', 'freenet.de', [imaps('mx.freenet.de'), submission('mx.freenet.de')]),
  defineProvider('IONOS', 'ionos.com ionos.de', [imaps('imap.ionos.de'), smtps('smtp.ionos.de')], {
    exchangers: ['ionos.de', 'kundenserver.de', 'ionos.com'],
  }),
  defineProvider('Strato', 'strato.de', [imaps('imap.strato.de'), smtps('smtp.strato.de')], {
    exchangers: ['rzone.de', 'smtpin.rzone.de'],
  }),
  defineProvider('Mailbox.org', 'mailbox.org', [imaps('imap.mailbox.org'), smtps('smtp.mailbox.org')], {
    exchangers: ['mailbox.org'],
  }),
  defineProvider('Posteo', 'posteo.de posteo.net', [imaps('posteo.de'), smtps('posteo.de')], {
    exchangers: ['posteo.de'],
  }),
  defineProvider('Zoho Mail', 'zoho.com zohomail.com', [imaps('imap.zoho.com'), smtps('smtp.zoho.com')], {
    exchangers: ['zoho.com'],
  }),
  defineProvider('Zoho Mail', 'zoho.eu zohomail.eu', [imaps('imap.zoho.eu'), smtps('smtp.zoho.eu')], {
    exchangers: ['zoho.eu'],
  }),
  defineProvider('Yandex', 'yandex.com yandex.ru ya.ru', [imaps('imap.yandex.com'), smtps('smtp.yandex.com')], {
    exchangers: ['yandex.net', 'yandex.ru'],
    appPasswordUrl: 'https://id.yandex.com/security/app-passwords',
  }),
  defineProvider('Mail.ru', 'mail.ru bk.ru inbox.ru list.ru', [imaps('imap.mail.ru'), smtps('smtp.mail.ru')], {
    exchangers: ['mail.ru'],
    appPasswordUrl: 'https://account.mail.ru/user/2-step-auth/passwords',
  }),
  defineProvider('OVHcloud', 'ovh.net', [imaps('ssl0.ovh.net'), smtps('ssl0.ovh.net')], {
    exchangers: ['mail.ovh.net'],
  }),
  defineProvider('Gandi', 'gandi.net', [imaps('mail.gandi.net'), smtps('mail.gandi.net')], {
    exchangers: ['mail.gandi.net'],
  }),
  defineProvider('Infomaniak', 'ik.me infomaniak.com', [imaps('mail.infomaniak.com'), smtps('mail.infomaniak.com')], {
    exchangers: ['infomaniak.ch'],
  }),
  defineProvider('Orange', 'orange.fr wanadoo.fr', [imaps('imap.orange.fr'), smtps('smtp.orange.fr')]),
  defineProvider('Free', 'free.fr', [imaps('imap.free.fr'), smtps('smtp.free.fr')]),
  defineProvider('Libero', 'libero.it', [imaps('imapmail.libero.it'), smtps('smtp.libero.it')]),
  defineProvider('Rackspace', 'emailsrvr.com', [imaps('secure.emailsrvr.com'), smtps('secure.emailsrvr.com')], {
    exchangers: ['emailsrvr.com'],
  }),
  defineProvider('Migadu', 'migadu.com', [imaps('imap.migadu.com'), smtps('smtp.migadu.com')], {
    exchangers: ['migadu.com'],
  }),
  defineProvider('Purelymail', 'purelymail.com', [imaps('imap.purelymail.com'), smtps('smtp.purelymail.com')], {
    exchangers: ['purelymail.com'],
  }),
];

/** The provider whose server an account names. @param host of IMAP or SMTP. */
export function findProvider(host: string): MailProvider | undefined {
  const name = host.toLowerCase();
  return providers.find(({ imap, smtp }) => imap.host === name || smtp.host === name);
}

/** The provider of the addresses of a domain. */
export function findProviderOfDomain(domain: string): MailProvider | undefined {
  const name = domain.toLowerCase();
  return providers.find(({ domains }) => domains.includes(name));
}

/** The provider that receives the mail of a domain. @param exchanger host name of an MX record. */
export function findProviderOfExchanger(exchanger: string): MailProvider | undefined {
  const name = exchanger.toLowerCase().replace(/\.$/, '');
  return providers.find(({ exchangers }) => exchangers.some((each) => name === each || name.endsWith(`.${each}`)));
}
