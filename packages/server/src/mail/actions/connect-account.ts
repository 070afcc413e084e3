/** Operations that connect to the mail servers of accounts: `accounts:discover`, `accounts:test`, and signing in with providers. */
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { recordNotFound, requireGrant } from '../../records/read/read-records.ts';
import { createVisibilityQuery, readVisibleRecords } from '../../records/read/visible-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { withAllFields } from '../../records/with-grants.ts';
import {
  type AuthorizationParts,
  beginAuthorization,
  finishAuthorization,
  toApiError,
} from '../connect/authorize-account.ts';
import {
  type DiscoveredServer,
  parseAddressParts,
  type TriedCandidate,
} from '../connect/discovery/discover-settings.ts';
import type { MailServerProblem } from '../connect/mail-server-problem.ts';
import type { SideResult, TestedSettings } from '../connect/test-account.ts';
import { requireAccountFields } from '../rules/account-fields.ts';
import { checkSecrets, normaliseAddress, parseServer } from '../rules/account-values.ts';
import { type BodyValues, type MailData, type MailRequest, readBodyObject } from './mail-request.ts';

/** `accounts:discover`: finds the mail servers of an address. For callers who may create or update accounts. */
export async function runDiscover(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  requireAccountWriter(context);
  request.knownParameters([], false);
  const address = requireAddress(readBodyObject(request, ['address'])['address']);
  const parsed = parseAddressParts(address);
  if (!parsed) throw invalidValues({ address: 'The domain of the address cannot exist. Check its spelling.' });
  const { provider, imap, smtp, tried } = await mail.connections.discover(parsed);
  const data = {
    address,
    provider: provider && { name: provider.name, oauth: provider.oauth, appPasswordUrl: provider.appPasswordUrl },
    imap: imap && showServer(imap),
    smtp: smtp && showServer(smtp),
    tried: tried.map(showCandidate),
  };
  return { data: JSON.stringify(data) };
}

/** `accounts:test`: signs in to the servers of an account, or of settings that are not saved yet. Changes nothing. */
export async function runTest(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  requireAccountWriter(context);
  const { filterByTk } = request.knownParameters(['filterByTk'], false);
  const body = readBodyObject(request, ['address', 'imap', 'smtp', 'password', 'smtpPassword']);
  const settings = parseTestedSettings(body, context);
  if (filterByTk === undefined) {
    requireGrant(context, context.registry.get('accounts'), 'create');
    requireAccountFields(context, 'create', ['imap', 'smtp']);
    const address = requireAddress(body['address']);
    if (!settings.imap && !settings.smtp)
      throw invalidValues({ imap: 'Give "imap" or "smtp", or name a stored account by "filterByTk".' });
    return showTest(await mail.connections.test({ address, account: null, settings }));
  }
  const account = await requireUpdatableAccount(context, filterByTk, ['imap', 'smtp']);
  const address = body['address'] === undefined ? account.address : requireAddress(body['address']);
  return showTest(await mail.connections.test({ address, account: account.id, settings }));
}

/** `accounts:authorize`: returns the URL where the user signs in with the mail provider of an account. */
export async function runAuthorize(request: MailRequest): Promise<MailData> {
  const { context } = request;
  requireAccountWriter(context, 'update');
  const { filterByTk } = request.knownParameters(['filterByTk'], false);
  readBodyObject(request, []);
  const { id } = await requireUpdatableAccount(context, filterByTk, ['oauth']);
  const target = { user: requireUser(context), account: id };
  const authorization = await beginAuthorization(target, authorizationParts(request)).catch((error: unknown) => {
    throw toApiError(error, 'oauth');
  });
  return { data: JSON.stringify(authorization) };
}

/**
 * `accounts:finishAuthorization`: completes the sign-in with the parameters that the mail provider has sent to the
 * browser of the same user.
 */
export async function runFinishAuthorization(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  requireAccountWriter(context, 'update');
  request.knownParameters([], false);
  const { state, code } = readBodyObject(request, ['state', 'code']);
  const details = {
    ...(!isShortText(state) && {
      state: 'Give the parameter "state" of the address to which the provider sent the browser.',
    }),
    ...(!isShortText(code) && {
      code: 'Give the parameter "code" of the address to which the provider sent the browser.',
    }),
  };
  if (!isShortText(state) || !isShortText(code)) throw invalidValues(details);
  const user = requireUser(context);
  const requireAccess = async (account: number): Promise<void> =>
    void (await requireUpdatableAccount(context, account, ['oauth']));
  const id = await finishAuthorization({ user, state, code }, authorizationParts(request), requireAccess);
  await mail.retrySync(id); // the account may have been waiting for the sign-in
  return { data: JSON.stringify({ id, signedIn: true }) };
}

const isShortText = (value: unknown): value is string =>
  typeof value === 'string' && value.length >= 1 && value.length <= 4096;

function authorizationParts({ context, mail }: MailRequest): AuthorizationParts {
  return { ...mail.connections.parts, hashToken: (token) => context.hashToken(token) };
}

/**
 * Refuses callers before their parameters are checked.
 *
 * @param action null: the caller may create or update accounts.
 * @throws ApiError `NO_PERMISSION`
 */
export function requireAccountWriter(context: RecordContext, action: 'update' | null = null): void {
  if (action === null && context.findGrant('accounts', 'create')) return;
  requireGrant(context, context.registry.get('accounts'), 'update');
}

/** A sign-in belongs to a user: keys without one cannot finish it in a browser. */
function requireUser({ caller }: RecordContext): number {
  const id = caller.user?.['id'];
  if (typeof id === 'number') return id;
  throw new ApiError('SESSION_NEEDED', 'Sign in as a user: this credential belongs to no user.');
}

/**
 * The account, if the caller may update it.
 *
 * @param fields what the operation changes or uses: a role that may not write these fields must not change them through
 * the operation.
 * @throws ApiError `NO_PERMISSION`, `FIELD_DENIED`, `RECORD_UNKNOWN`, `TARGET_MISSING`
 */
export async function requireUpdatableAccount(
  context: RecordContext,
  key: unknown,
  fields: readonly string[],
): Promise<{ readonly id: number; readonly address: string }> {
  const accounts = context.registry.get('accounts');
  const grant = requireGrant(context, accounts, 'update');
  requireAccountFields(context, 'update', fields);
  if (key === undefined) throw new ApiError('TARGET_MISSING', 'Name the account by "filterByTk".');
  const id = /^\d{1,9}$/.test(String(key)) ? Number(key) : null;
  const query = createVisibilityQuery(null, { shows: true });
  const found = id === null ? null : await readVisibleRecords(context, accounts, withAllFields(grant), query, [id]);
  const record = found?.get(String(id));
  if (id === null || !record) throw recordNotFound(accounts, grant);
  return { id, address: (JSON.parse(record) as { address: string }).address };
}

function requireAddress(given: unknown): string {
  const address = normaliseAddress(given);
  if (address !== null) return address;
  throw invalidValues({ address: 'Give one e-mail address, such as ann@example.com.' });
}

function parseTestedSettings(body: BodyValues, { mail }: RecordContext): TestedSettings {
  const { imap, smtp, password, smtpPassword } = body;
  const secrets = checkSecrets({ password, smtpPassword });
  return {
    ...(imap != null && { imap: parseServer('imap', imap, mail) }),
    ...(smtp != null && { smtp: parseServer('smtp', smtp, mail) }),
    ...(secrets['password'] != null && { password: secrets['password'] }),
    ...(secrets['smtpPassword'] != null && { smtpPassword: secrets['smtpPassword'] }),
  };
}

const showProblem = (problem: MailServerProblem | null): object | null =>
  problem && { code: problem.code, message: problem.message, cure: problem.cure, retry: problem.retry };

const showSide = (side: SideResult): object | null =>
  side && { ok: side.problem === null, problem: showProblem(side.problem) };

function showTest({ imap, smtp }: { readonly imap: SideResult; readonly smtp: SideResult }): MailData {
  return { data: JSON.stringify({ imap: showSide(imap), smtp: showSide(smtp) }) };
}

const showServer = (server: DiscoveredServer): object => {
  const { host, port, security, user, source, needsConfirmation, offersPassword, offersOauth } = server;
  return { host, port, security, user, source, needsConfirmation, offersPassword, offersOauth };
};

const showCandidate = ({ protocol, server, source, problem }: TriedCandidate): object => ({
  protocol,
  ...server,
  source,
  problem: showProblem(problem),
});
