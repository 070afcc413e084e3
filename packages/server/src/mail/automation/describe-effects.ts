import type { RuleMessageRow } from '../../database/mail/rule-message-rows.ts';
import { decideReply } from './automatic-mail.ts';
import type { RuleAction } from './rule-actions.ts';
import { computeLabels } from './run-actions.ts';

/** What an action would do to an e-mail. */
export type RuleEffect =
  | Exclude<RuleAction, { type: 'reply' }>
  /** `to` is the recipient; `refusal` says why the message gets no automatic reply. */
  | { readonly type: 'reply'; readonly to?: string; readonly refusal?: string };

/** What describing effects needs to know. */
export interface EffectFacts {
  /** Of the account, in lower case. */
  readonly ownAddresses: ReadonlySet<string>;
  /**
   * Whether the caller may read a field of e-mails. An action only counts as without effect if the caller may read the
   * fields that show this.
   */
  readonly mayRead: (field: string) => boolean;
}

/** What the actions of a rule would do to an e-mail, without actions that would change nothing. */
export function describeEffects(
  actions: readonly RuleAction[],
  message: RuleMessageRow,
  { ownAddresses, mayRead }: EffectFacts,
): RuleEffect[] {
  return actions.flatMap((action): RuleEffect[] => {
    switch (action.type) {
      case 'star':
        return mayRead('starred') && message.starred ? [] : [action];
      case 'markRead':
        return mayRead('read') && message.read ? [] : [action];
      case 'addLabel':
      case 'removeLabel':
        return mayRead('labels') && computeLabels([action], message.labels) === message.labels ? [] : [action];
      case 'move': {
        const isThere = message.mailboxId === action.mailbox || message.folder === action.mailbox;
        return mayRead('folder') && mayRead('mailbox') && isThere ? [] : [action];
      }
      case 'reply': {
        if (!mayRead('content') || !mayRead('from')) return [{ type: 'reply' }];
        const decision = decideReply(message, ownAddresses);
        return ['address' in decision ? { type: 'reply', to: decision.address } : { type: 'reply', ...decision }];
      }
      default:
        return [action];
    }
  });
}
