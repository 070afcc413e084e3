/** Rules on existing mail: `mailRules:try` shows what a rule would do, `mailRules:apply` does it. */
import { findOwnAddresses } from '../../database/mail/account-rows.ts';
import { type RuleMessageRow, readRuleMessages } from '../../database/mail/rule-message-rows.ts';
import { readRule } from '../../database/mail/rule-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import type { Grant } from '../../query/grant.ts';
import { getRecord, listRecords, requireGrant } from '../../records/read/read-records.ts';
import { createVisibilityQuery, readVisibleRecords } from '../../records/read/visible-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { getField } from '../../schema/registry.ts';
import { getComparedTextLength } from '../automation/account-automation.ts';
import { automationLimits } from '../automation/automation-limits.ts';
import { describeEffects } from '../automation/describe-effects.ts';
import { InputProblems } from '../automation/input-problems.ts';
import { ComparableMessage, matchesRule, type RuleTest } from '../automation/match-rule.ts';
import { parseActions } from '../automation/rule-actions.ts';
import { parseConditions } from '../automation/rule-conditions.ts';
import { requireRulePermissions } from '../automation/rule-permissions.ts';
import { type RunnableRule, runActions } from '../automation/run-actions.ts';
import { toMailRule } from '../automation/stored-rule.ts';
import { parseMailListRequest } from '../search/mail-list-request.ts';
import { findVisibleAccount } from '../visible-account.ts';
import { requireEmailGrant } from './mail-access.ts';
import { type BodyValues, type MailData, type MailRequest, readBodyObject } from './mail-request.ts';

/** A rule that a request names or gives. */
type TestedRule = RunnableRule & RuleTest;

/** E-mails that are examined, and where the next call continues. */
interface Scan {
  readonly folder: string | null;
  readonly limit: number;
  /** Only e-mails with a lower key; null: from the newest. */
  readonly cursor: number | null;
}

/** The e-mails of one page that a rule matches, the newest first. */
interface ScanResult {
  readonly matching: readonly {
    readonly record: Readonly<Record<string, unknown>>;
    readonly message: RuleMessageRow;
  }[];
  readonly scanned: number;
  /** Null: no older e-mail is left. */
  readonly nextCursor: number | null;
}

const anyRow = createVisibilityQuery(null);
/** Messages whose texts are in memory at once. */
const messagesPerRead = 20;
/** What is shown of a matching e-mail, as far as the role may list it. */
const shownFields = ['subject', 'from', 'receivedAt', 'snippet', 'folder'];
/** Not in an inbox or archive, so without a folder they are left out. */
const excludedFolders = ['trash', 'junk', 'drafts', 'outbox'];

/** `mailRules:try`: which existing e-mails a rule matches, and what it would do. Changes nothing. */
export async function runTryRule(request: MailRequest): Promise<MailData> {
  const { context } = request;
  requireRuleReader(context);
  // The members of the body of a read are its parameters.
  const names = ['id', 'account', 'rule', ...scanMembers];
  const { id, account, rule: given, ...rest } = request.knownParameters(names, false);
  const scan = parseScan(rest);
  if ((id === undefined) === (given === undefined))
    throw new ApiError('TARGET_MISSING', 'Name a stored rule by "id", or give one as "account" and "rule".');
  const rule = id === undefined ? await readGivenRule(context, account, given) : await readStoredRule(context, id);
  requireRulePermissions(context, { conditions: rule.conditions, actions: [] });
  const { matching, scanned, nextCursor } = await scanEmails(context, rule, scan);
  const { emails, grant } = requireEmailGrant(context, 'get');
  const facts = {
    ownAddresses: (await findOwnAddresses(context.database, null, rule.accountId)) ?? new Set<string>(),
    mayRead: (name: string) => grant.may(getField(emails, name)),
  };
  const found = matching.map(({ record, message }) => ({
    ...record,
    effects: describeEffects(rule.actions, message, facts),
  }));
  return { data: JSON.stringify({ emails: found, scanned, nextCursor }) };
}

/** `mailRules:apply`: carries out a stored rule on existing e-mails, without automatic replies. The caller needs the permissions. */
export async function runApplyRule(request: MailRequest): Promise<MailData> {
  const { context } = request;
  requireRuleReader(context);
  request.knownParameters([]);
  const { id, ...rest } = readBodyObject(request, ['id', ...scanMembers]);
  const scan = parseScan(rest);
  const storedResult = await request.findStoredResult();
  if (storedResult) return storedResult;
  const rule = await readStoredRule(context, id);
  const applied = { ...rule, actions: rule.actions.filter(({ type }) => type !== 'reply') };
  requireRulePermissions(context, applied);
  const { matching, scanned, nextCursor } = await scanEmails(context, rule, scan);
  const keys = matching.map(({ message }) => message.id);
  return request.write({ heavy: true, lockKey: `mail ${rule.accountId}` }, async (tx) => {
    if (keys.length > 0) await runActions(tx, applied, keys);
    return { data: JSON.stringify({ ids: keys, scanned, nextCursor }) };
  });
}

/** @throws ApiError `NO_PERMISSION` unless the role may read rules and e-mails. */
function requireRuleReader(context: RecordContext): Grant {
  requireEmailGrant(context, 'get');
  requireEmailGrant(context, 'list');
  return requireGrant(context, context.registry.get('mailRules'), 'get');
}

const scanMembers = ['folder', 'limit', 'cursor'];

function parseScan({ folder = 'inbox', ...given }: BodyValues): Scan {
  const limit = toNumber(given['limit'] ?? automationLimits.defaultScannedEmails);
  const cursor = toNumber(given['cursor'] ?? null);
  const problems = new InputProblems();
  const isKey = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
  if (folder !== null && (typeof folder !== 'string' || folder === '' || folder.length > 1000))
    problems.add('folder', 'Give the role or the path of a mailbox, or null for all but trash and junk.');
  if (!isKey(limit) || limit > automationLimits.scannedEmails)
    problems.add('limit', `Give a number from 1 to ${automationLimits.scannedEmails}.`);
  if (cursor !== null && !isKey(cursor)) problems.add('cursor', 'Give "nextCursor" of the previous reply, or null.');
  problems.throwIfAny();
  return { folder: folder as string | null, limit: limit as number, cursor: cursor as number | null };
}

/** A number that a query string holds as text; any other value stays as it is. */
function toNumber(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
}

/** A rule of a request, checked like one that is saved, except that it needs no name. */
async function readGivenRule(context: RecordContext, account: unknown, given: unknown): Promise<TestedRule> {
  if (typeof account !== 'string' && typeof account !== 'number')
    throw invalidValues({ account: 'Name the account by its id or its address.' });
  if (!isObject(given)) throw invalidValues({ rule: 'Give {"matches", "conditions", "actions"}.' });
  const { matches = 'all', name = '', conditions, actions } = given;
  const problems = new InputProblems();
  if (matches !== 'all' && matches !== 'any') problems.add('matches', 'Give all or any.');
  const rule = {
    id: null,
    name: typeof name === 'string' ? name : '',
    matches: matches as 'all' | 'any',
    conditions: parseConditions(conditions, problems),
    actions: parseActions(actions, problems),
  };
  problems.throwIfAny();
  const { id: accountId } = await findVisibleAccount(context, String(account));
  return { ...rule, accountId };
}

/** @throws ApiError 403 or 404 for a rule that the caller cannot see, or whose content the role may not read. */
async function readStoredRule(context: RecordContext, given: unknown): Promise<TestedRule> {
  const id = toNumber(given);
  if (!Number.isSafeInteger(id)) throw new ApiError('TARGET_MISSING', 'Name the rule by "id" in the body.');
  const rules = context.registry.get('mailRules');
  const grant = requireGrant(context, rules, 'get');
  for (const name of ['conditions', 'actions'])
    if (!grant.may(getField(rules, name)))
      throw new ApiError('FIELD_DENIED', `The role may not read "${name}" of mailRules.`);
  await getRecord(context, rules, requestByKeys('get', id));
  const row = await readRule(context.database, null, id as number);
  if (!row) throw new ApiError('RECORD_UNKNOWN', 'The rule was deleted.');
  return toMailRule(row);
}

/** Looks at one page of e-mails that the caller can see. */
async function scanEmails(context: RecordContext, rule: TestedRule, scan: Scan): Promise<ScanResult> {
  const records = await listPage(context, rule.accountId, scan);
  const { emails, grant } = requireEmailGrant(context, 'get');
  const textLength = getComparedTextLength([rule]);
  const matching: { record: Record<string, unknown>; message: RuleMessageRow }[] = [];
  for (let start = 0; start < records.length; start += messagesPerRead) {
    const page = records.slice(start, start + messagesPerRead);
    const ids = page.map((each) => each['id'] as number);
    // Conditions look at more than a list shows: only at e-mails that the caller may also get.
    const visible = await readVisibleRecords(context, emails, grant, anyRow, ids);
    const readable = ids.filter((id) => visible.has(String(id)));
    const messages = await readRuleMessages(context.database, readable, textLength);
    for (const record of page) {
      const message = messages.get(record['id'] as number);
      if (message && matchesRule(rule, new ComparableMessage(message))) matching.push({ record, message });
    }
  }
  const last = records.at(-1)?.['id'] as number | undefined;
  const hasMore = last !== undefined && records.length === scan.limit;
  return { matching, scanned: records.length, nextCursor: hasMore ? last : null };
}

async function listPage(
  context: RecordContext,
  accountId: number,
  { folder, limit, cursor }: Scan,
): Promise<Record<string, unknown>[]> {
  const { emails, grant } = requireEmailGrant(context, 'list');
  const conditions = [
    ...(cursor === null ? [] : [{ id: { $lt: cursor } }]),
    ...(folder === null ? [{ folder: { $notIn: excludedFolders } }] : []),
  ];
  const parameters = {
    accountId,
    ...(folder !== null && { folder }),
    ...(conditions.length > 0 && { filter: { $and: conditions } }),
    fields: ['id', ...shownFields.filter((name) => grant.may(getField(emails, name)))],
    pageSize: limit,
    count: 'none',
  };
  const { data } = await listRecords(context, emails, parseMailListRequest('emails', parameters, false, context));
  return JSON.parse(data) as Record<string, unknown>[];
}
