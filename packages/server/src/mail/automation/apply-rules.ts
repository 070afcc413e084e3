/**
 * Applies the rules and the vacation reply of an account to one e-mail that has arrived.
 *
 * The transaction that stores the e-mail also stores that it waits for the rules (`mailArrivals`). A second transaction
 * contains everything that the rules do: the automatic reply in the outbox, the record of that reply, and the removal
 * of the waiting entry. After a crash between the two, the entry still waits; after the second one, nothing is
 * repeated.
 */
import type { Database } from '../../database/database.ts';
import { type Arrival, takeArrivals } from '../../database/mail/arrival-rows.ts';
import type { RuleMessageRow } from '../../database/mail/rule-message-rows.ts';
import { isAccountMember, setRuleProblem } from '../../database/mail/rule-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { createVisibilityQuery, readVisibleRecords } from '../../records/read/visible-records.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../../records/record-context.ts';
import type { MailStore } from '../mail-store.ts';
import { appendMailEvent } from '../store/mail-events.ts';
import type { AccountAutomation } from './account-automation.ts';
import { type PreparedReply, prepareReply, queueReply } from './automatic-reply.ts';
import { type ChosenReply, chooseReply } from './choose-reply.ts';
import { listMatchingRules } from './match-rule.ts';
import type { RuleAction } from './rule-actions.ts';
import { findRuleRefusal } from './rule-permissions.ts';
import { runActions } from './run-actions.ts';
import type { MailRule } from './stored-rule.ts';

/** The contexts of work that several users' rules share, under one snapshot of definitions and permissions. */
export interface RuleContexts {
  /** The context of a user in a role; null where the user does not exist, is suspended, or no longer holds the role. */
  readonly getUserContext: (user: number, role: string) => Promise<RecordContext | null>;
  /** The context of the server itself. */
  readonly server: RecordContext;
}

/** What applying rules works with. */
export interface ApplyRulesParts {
  readonly database: Database;
  readonly mail: MailStore;
  /** Runs work under the current definitions and permissions; again if they change meanwhile. */
  readonly withRuleContexts: <T>(work: (contexts: RuleContexts) => Promise<T>) => Promise<T>;
}

/** An e-mail that has arrived, and what applies to it. */
export interface ArrivedMail {
  readonly arrival: Arrival;
  readonly message: RuleMessageRow;
  readonly automation: AccountAutomation;
}

/** A rule that takes effect, in the context of the user as whom it acts. */
interface EffectiveRule {
  readonly rule: MailRule;
  readonly context: RecordContext;
}

/** Rules that could not be applied, with the reasons. Null stands for the vacation reply. */
type Failures = Map<number | null, string>;

/**
 * Applies the rules. A rule that cannot be applied does nothing, its `problem` says why, and the other rules are applied.
 *
 * @throws any error that is no refusal: then nothing was changed, and the e-mail still waits.
 */
export async function applyRules(parts: ApplyRulesParts, arrived: ArrivedMail): Promise<void> {
  const failures: Failures = new Map();
  const matching = listMatchingRules(arrived.automation.rules, arrived.message);
  let applied: readonly EffectiveRule[] | null = null;
  while (applied === null) {
    const attempt = new RuleAttempt(parts, arrived, failures);
    try {
      applied = await parts.withRuleContexts((contexts) => attempt.run(contexts, matching));
    } catch (error) {
      const { culprit } = attempt;
      if (!(error instanceof ApiError) || error.retryAfter !== undefined || culprit === undefined) throw error;
      failures.set(culprit, error.message);
    }
  }
  await reportProblems(parts, applied, failures);
}

/** One attempt to apply rules. After a refusal, the next attempt leaves out the {@link culprit}. */
class RuleAttempt {
  readonly #parts: ApplyRulesParts;
  readonly #arrived: ArrivedMail;
  readonly #failures: Failures;
  /** The rule that is being carried out; null: the vacation reply; undefined: neither. */
  culprit: number | null | undefined;

  constructor(parts: ApplyRulesParts, arrived: ArrivedMail, failures: Failures) {
    this.#parts = parts;
    this.#arrived = arrived;
    this.#failures = failures;
  }

  /** @returns the rules that were applied. */
  async run(contexts: RuleContexts, matching: readonly MailRule[]): Promise<readonly EffectiveRule[]> {
    const { database, mail } = this.#parts;
    const { message, automation, arrival } = this.#arrived;
    this.culprit = undefined;
    const effective = await this.#findEffective(contexts, matching);
    const now = contexts.server.clock.now();
    const chosen = await chooseReply(database, automation, message, {
      rules: effective.map(({ rule }) => rule),
      now,
    });
    const reply = chosen && (await this.#prepareReply(contexts, effective, chosen));
    await inTransaction(
      contexts.server,
      async (tx) => {
        this.culprit = undefined;
        if ((await takeArrivals(database, tx.tx, [arrival.id])).length === 0) return;
        for (const { rule, context } of dropOverridden(effective)) {
          this.culprit = rule.id;
          await runActions(joinTransaction(context, tx), rule, [message.id]);
        }
        if (!reply) return;
        this.culprit = chosen?.rule?.id ?? null;
        await queueReply(joinTransaction(this.#getReplyContext(contexts, effective, chosen), tx), mail, reply);
      },
      { lockKey: `mail ${automation.account.id}` },
    );
    return effective;
  }

  /** The rules that take effect: those that the users as whom they act may apply to the e-mail, until one ends with `stop`. */
  async #findEffective(contexts: RuleContexts, matching: readonly MailRule[]): Promise<EffectiveRule[]> {
    const effective: EffectiveRule[] = [];
    for (const rule of matching) {
      if (this.#failures.has(rule.id)) continue;
      const context = await this.#findRuleContext(contexts, rule);
      if (!context) continue;
      effective.push({ rule, context });
      if (rule.stop) break;
    }
    return effective;
  }

  /** The context in which a rule acts; null where it does not apply to the e-mail, or cannot be applied. */
  async #findRuleContext(contexts: RuleContexts, rule: MailRule): Promise<RecordContext | null> {
    const { database } = this.#parts;
    const { ownerId, role } = rule;
    const context = ownerId === null || role === null ? null : await contexts.getUserContext(ownerId, role);
    if (!context || ownerId === null || !(await isAccountMember(database, null, rule.accountId, ownerId))) {
      this.#failures.set(rule.id, ownerGoneProblem);
      return null;
    }
    const refusal = findRuleRefusal(context, rule);
    if (refusal) {
      this.#failures.set(rule.id, `${refusal.path}: ${refusal.reason}`);
      return null;
    }
    return (await isVisible(context, this.#arrived.message.id)) ? context : null;
  }

  async #prepareReply(
    contexts: RuleContexts,
    effective: readonly EffectiveRule[],
    chosen: ChosenReply,
  ): Promise<PreparedReply> {
    this.culprit = chosen.rule?.id ?? null;
    const context = this.#getReplyContext(contexts, effective, chosen);
    const { automation, message } = this.#arrived;
    return prepareReply({ context, mail: this.#parts.mail }, automation.account, message, chosen);
  }

  /** A rule replies as its user, the vacation setting as the server. */
  #getReplyContext(
    { server }: RuleContexts,
    effective: readonly EffectiveRule[],
    chosen: ChosenReply | null,
  ): RecordContext {
    return effective.find(({ rule }) => rule.id === chosen?.rule?.id)?.context ?? server;
  }
}

const ownerGoneProblem =
  'The user as whom the rule acts was suspended or deleted, lost the role, or is no longer a member of the account. Save the rule again to let it act as you.';

const anyRow = createVisibilityQuery(null);

async function isVisible(context: RecordContext, email: number): Promise<boolean> {
  const grant = context.findGrant('emails', 'get');
  if (!grant) return false;
  return (await readVisibleRecords(context, context.registry.get('emails'), grant, anyRow, [email])).size > 0;
}

/** The same context in a transaction that was begun for another one. */
function joinTransaction(context: RecordContext, { tx }: TransactionContext): TransactionContext {
  return { ...context, snapshotVersion: { ...context.snapshotVersion }, tx, refresh: async () => {} };
}

/** Of several moves or assignments only the last one is carried out. */
function dropOverridden(effective: readonly EffectiveRule[]): EffectiveRule[] {
  const isOverridden = (action: RuleAction, index: number): boolean =>
    (action.type === 'move' || action.type === 'assign') &&
    effective.slice(index + 1).some(({ rule }) => rule.actions.some(({ type }) => type === action.type));
  return effective.map(({ rule, context }, index) => ({
    rule: { ...rule, actions: rule.actions.filter((action) => !isOverridden(action, index)) },
    context,
  }));
}

/** Writes the problems of rules where they have changed. */
async function reportProblems(
  { database, withRuleContexts }: ApplyRulesParts,
  applied: readonly EffectiveRule[],
  failures: Failures,
): Promise<void> {
  const problems = new Map<number, string | null>();
  for (const { rule } of applied) if (rule.problem !== null) problems.set(rule.id, null);
  for (const [id, reason] of failures) if (id !== null) problems.set(id, reason);
  if (problems.size === 0) return;
  await withRuleContexts(({ server: { changes, clock } }) =>
    database.write(async (transaction) => {
      const changed: number[] = [];
      for (const [id, problem] of problems)
        if (await setRuleProblem(database, transaction, id, problem)) changed.push(id);
      const event = { name: 'mailRules.updated', keys: changed, changed: ['problem'] } as const;
      await appendMailEvent(transaction, { changes, clock, actor: null, requestId: null }, event);
    }),
  );
}
