/** Reads templates of messages. */
import type { TemplateVariable } from '@tablinum/client';
import type { UseQueryResult } from '@tanstack/react-query';
import { useApiQuery } from '../../data/queries.ts';

export interface MailTemplate {
  readonly id: number;
  readonly accountId: number;
  readonly name: string;
  readonly subject: string;
  readonly text: string | null;
  readonly html: string | null;
  /** False: only its author sees it. */
  readonly shared: boolean;
  readonly authorId: number | null;
}

/** The query keys that a change of a template invalidates. */
export const templateKeys = ['mail-templates'] as const;

const variables: Readonly<Record<TemplateVariable, true>> = {
  recipientName: true,
  recipientFirstName: true,
  recipientAddress: true,
  conversationSubject: true,
  accountName: true,
  accountAddress: true,
  userName: true,
  userEmail: true,
};
/** The variables that the server fills, in the order in which they are offered. */
export const templateVariables = Object.keys(variables) as TemplateVariable[];

/** The templates of an account that the user sees, by name. */
export function useTemplates(account: number | null): UseQueryResult<readonly MailTemplate[], Error> {
  return useApiQuery(
    ['mail-templates', account],
    async (client, signal) => {
      const query = { filter: { accountId: account }, sort: ['name', 'id'], pageSize: 200 };
      return (await client.call<MailTemplate[]>('mailTemplates:list', { query, signal })).data;
    },
    { enabled: account !== null },
  );
}
