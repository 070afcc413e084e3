/** What the reply of a mail server means: response codes first, then known texts of providers. */
import type { ProblemCode, ProblemDetails } from './mail-server-problem.ts';
import type { ServerLogin } from './server-login.ts';

/** A negative reply of a mail server. */
export interface ServerReply {
  /** The response code of IMAP, such as `AUTHENTICATIONFAILED`; null without one. */
  readonly responseCode: string | null;
  /** The reply code of SMTP, such as 535; null for IMAP. */
  readonly status: number | null;
  readonly text: string;
  /** Whether the reply refuses a sign-in. */
  readonly refusesLogin: boolean;
}

/** The kind of a problem, and words that fit better than the usual ones. */
export type Diagnosis = readonly [code: ProblemCode, details?: ProblemDetails];

const webLogin: Diagnosis = [
  'appPasswordNeeded',
  {
    message: 'The mail provider blocks sign-ins of mail programs until you have signed in with a web browser.',
    cure: 'Sign in to the mail provider with a web browser and confirm that it was you. Then create an app password and enter it here.',
  },
];

/** Known texts, the more special ones first: they say more than the response code that comes with them. */
const texts: readonly (readonly [pattern: RegExp, diagnosis: Diagnosis])[] = [
  [
    /invalid credentials or imap is disabled/i,
    [
      'wrongPassword',
      { cure: 'Check user name and password, and whether IMAP is allowed in the settings of the mailbox.' },
    ],
  ],
  [/application[- ]specific password|\bapp(?:lication)?[- ]password|InvalidSecondFactor/i, ['appPasswordNeeded']],
  [/SmtpClientAuthentication is disabled|smtp_auth_disabled/i, ['smtpDisabled']],
  [/basic ?auth\w*\W*(?:is |has been )?(?:disabled|blocked)|BasicAuthBlocked/i, ['oauthNeeded']],
  [
    /not enabled for IMAP|IMAP\b[^.]{0,40}\b(?:disabled|not enabled|deactivated|switched off)|AccessNotEnabledForIMAP|access rights to this service|authenticated but not connected/i,
    ['imapDisabled'],
  ],
  [/web ?login required|log ?in (?:via|with|using) your web browser/i, webLogin],
  [
    /too many (?:simultaneous |concurrent |open )?(?:connections|sessions)|maximum (?:number of )?connections|connection limit/i,
    ['connectionLimit'],
  ],
  [
    /throttl|rate[- ]limit|bandwidth limit|too many (?:\w+ ){0,2}(?:attempts|requests|commands|logins)|sending limit/i,
    ['throttled'],
  ],
];

const responseCodes: Readonly<Record<string, Diagnosis>> = {
  OVERQUOTA: ['overQuota'],
  THROTTLED: ['throttled'],
  LIMIT: ['connectionLimit'],
  INUSE: [
    'connectionLimit',
    {
      message: 'The mailbox is in use by another program.',
      cure: 'Close mail programs that use the account, or wait. The server tries again by itself.',
    },
  ],
  UNAVAILABLE: [
    'serverError',
    { message: 'The mail server has a temporary failure.', cure: 'Wait. The server tries again by itself.' },
  ],
  WEBALERT: webLogin,
  PRIVACYREQUIRED: ['tlsMissing', { message: 'The mail server only accepts sign-ins over an encrypted connection.' }],
  EXPIRED: [
    'wrongPassword',
    { message: 'The password has expired.', cure: 'Set a new password at the mail provider and enter it here.' },
  ],
};

/** Hosts of Microsoft that accept no passwords for IMAP at all, and only say that the sign-in failed. */
const oauthOnlyHost =
  /(?:^|\.)(?:outlook\.office365\.com|outlook\.office\.com|outlook\.live\.com|imap-mail\.outlook\.com)$/i;

/** @returns null for a reply that says nothing known: the command was refused for a reason of its own. */
export function diagnoseReply(reply: ServerReply, login: ServerLogin): Diagnosis | null {
  const known = texts.find(([pattern]) => pattern.test(reply.text))?.[1];
  if (known) return known;
  const byCode = reply.responseCode === null ? undefined : responseCodes[reply.responseCode.toUpperCase()];
  if (byCode) return byCode;
  return reply.status === null ? diagnoseImap(reply, login) : diagnoseSmtp(reply.status, reply, login);
}

/** A sign-in that is refused for a reason that only the server's own words name. It is not tried again by itself. */
const refusedSignIn: ProblemDetails = {
  retry: 'never',
  cure: 'Follow what the mail server says, or ask its operator. Then retry.',
};

function diagnoseImap({ responseCode, refusesLogin }: ServerReply, login: ServerLogin): Diagnosis | null {
  if (!refusesLogin) return null;
  if (login.auth.kind === 'oauth2') return ['tokenRevoked'];
  const isExplicit = responseCode === 'AUTHENTICATIONFAILED';
  if (responseCode !== null && !isExplicit) return ['serverError', refusedSignIn];
  return oauthOnlyHost.test(login.host) ? ['oauthNeeded'] : ['wrongPassword'];
}

function diagnoseSmtp(status: number, { text, refusesLogin }: ServerReply, login: ServerLogin): Diagnosis | null {
  if (status === 552 || (status === 452 && /4\.2\.2|quota|full/i.test(text))) return ['overQuota'];
  if (status === 530 && /STARTTLS|encrypt|TLS/i.test(text)) return ['tlsMissing'];
  if (status === 534) return ['appPasswordNeeded'];
  if (status === 530 || status === 535 || (refusesLogin && status >= 500))
    return [login.auth.kind === 'oauth2' ? 'tokenRevoked' : 'wrongPassword'];
  return refusesLogin || status === 421 ? ['serverError'] : null;
}
