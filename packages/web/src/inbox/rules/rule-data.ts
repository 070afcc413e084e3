/** Reads and writes the rules of a mail account. */
import type { UseQueryResult } from '@tanstack/react-query';
import { useApiQuery } from '../../data/queries.ts';
import type { MailAddress } from '../mail-types.ts';
import type { MailRule } from './rule-types.ts';

/** The query keys that a change of a rule invalidates. */
export const ruleKeys = ['mail-rules'] as const;

/** The rules of an account, in their order. */
export function useRules(account: number): UseQueryResult<readonly MailRule[], Error> {
  return useApiQuery(['mail-rules', account], async (client, signal) => {
    const query = { filter: { accountId: account }, sort: ['position', 'id'], pageSize: 200 };
    return (await client.call<MailRule[]>('mailRules:list', { query, signal })).data;
  });
}

/** What a rule would do to existing e-mails. */
export interface RuleMatches {
  readonly emails: readonly {
    readonly id: number;
    readonly subject?: string | null;
    readonly from?: readonly MailAddress[] | null;
    readonly receivedAt?: string | null;
    readonly effects: readonly { readonly type: string; readonly refusal?: string }[];
  }[];
  readonly scanned: number;
  readonly nextCursor: number | null;
}
