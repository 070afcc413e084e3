import type { Transaction } from '../../database/database.ts';
import { readMailboxes } from '../../database/mail/account-rows.ts';
import { countRules, isAccountMember, readRule, setRuleOwner } from '../../database/mail/rule-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext, TransactionContext } from '../../records/record-context.ts';
import type { Body, PreparedBody } from '../../records/record-rules.ts';
import { automationLimits } from './automation-limits.ts';
import { InputProblems } from './input-problems.ts';
import { parseActions, type RuleAction } from './rule-actions.ts';
import { parseConditions } from './rule-conditions.ts';
import { requireRulePermissions } from './rule-permissions.ts';
import { toMailRule } from './stored-rule.ts';

/** Fields that the server sets; values for them are ignored. */
const serverManaged = new Set(['ownerId', 'owner', 'role', 'problem']);
/** A user who changes one of these fields changes what the rule does, so the rule acts as that user from then on. */
const meaningful = ['enabled', 'matches', 'conditions', 'actions', 'stop'];

/**
 * Rules are checked completely when they are saved: their form before the transaction, and what they refer to after the write, when it
 * is certain that the caller may write the rule.
 */
export async function prepareMailRule(body: unknown, key: unknown, context: RecordContext): Promise<PreparedBody> {
  if (!isObject(body)) return { body: body as Body };
  const row: Record<string, unknown> = Object.fromEntries(
    Object.entries(body).filter(([name]) => !serverManaged.has(name)),
  );
  const isNew = key === null;
  if (!isNew && ('accountId' in row || 'account' in row))
    throw new ApiError('SYSTEM_PROTECTED', 'The account of a rule cannot be changed; leave "accountId" out.');
  const problems = new InputProblems();
  if (isNew && row['accountId'] == null && row['account'] == null)
    problems.add('accountId', 'Name the account by its id. You must be its owner or a member.');
  if (isNew || 'conditions' in row) row['conditions'] = parseConditions(row['conditions'], problems);
  if (isNew || 'actions' in row) row['actions'] = parseActions(row['actions'], problems);
  problems.throwIfAny();
  const changesMeaning = isNew || meaningful.some((name) => name in row);
  const owner = changesMeaning ? requireRuleOwner(context) : null;
  return {
    body: row,
    afterWrite: async (transaction, id) => {
      if (owner === null) return [];
      await checkWrittenRule({ ...context, tx: transaction }, id as number, isNew);
      await setRuleOwner(context.database, transaction, id as number, owner);
      return ['ownerId', 'role', 'problem'];
    },
  };
}

/** As whom the rule acts: the user who saves it, in the role of the request. */
function requireRuleOwner({ caller }: RecordContext): { readonly user: number; readonly role: string } {
  const user = caller.user?.['id'];
  if (typeof user === 'number') return { user, role: caller.role };
  throw new ApiError('NO_PERMISSION', 'A rule acts as the user who saves it, and this credential belongs to no user.');
}

/** Checks a rule as it is after the write. @throws ApiError 403 or 422. */
async function checkWrittenRule(context: TransactionContext, id: number, isNew: boolean): Promise<void> {
  const { database, tx: transaction } = context;
  const row = await readRule(database, transaction, id);
  if (!row) throw new Error(`rule ${id} was written and then not found`);
  const rule = toMailRule(row);
  if (isNew && (await countRules(database, transaction, rule.accountId)) > automationLimits.rules)
    throw invalidValues({ accountId: `An account has at most ${automationLimits.rules} rules. Destroy others first.` });
  requireRulePermissions(context, rule);
  const problem = await findReferenceProblem(context, transaction, rule);
  if (problem !== null) throw invalidValues({ [problem.path]: problem.reason });
}

/** What a rule refers to that does not exist in its account, or null. */
export async function findReferenceProblem(
  { database }: RecordContext,
  transaction: Transaction,
  { accountId, actions }: { readonly accountId: number; readonly actions: readonly RuleAction[] },
): Promise<{ readonly path: string; readonly reason: string } | null> {
  for (const [index, action] of actions.entries()) {
    if (action.type === 'assign' && !(await isAccountMember(database, transaction, accountId, action.userId)))
      return { path: `actions.${index}.userId`, reason: 'Name a user who is a member of the account.' };
    // The mailbox with a role is created when it is needed.
    if (action.type !== 'move' || typeof action.mailbox === 'string') continue;
    const mailboxes = await readMailboxes(database, accountId, transaction);
    if (!mailboxes.some(({ id }) => id === action.mailbox))
      return { path: `actions.${index}.mailbox`, reason: 'Name a mailbox of the account that exists.' };
  }
  return null;
}
