/** Changes of the labels of conversations, which are those of their e-mails: shown at once, reverted after a refusal, with undo. */
import { type Client, Failure, type ListMeta } from '@tablinum/client';
import { explainDenied } from '../../data/explain-denied.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import type { InboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import { writeInBatches } from '../actions/email-placements.ts';
import type { MailActions } from '../actions/mail-actions.ts';
import type { ConversationList } from '../list/conversation-list.ts';
import { invalidateThread, patchThread } from '../mail-queries.ts';
import type { Conversation } from '../mail-types.ts';
import { changeLabels, type LabelChange } from './labels.ts';

interface LabelActionContext {
  readonly client: Client;
  readonly application: string;
  readonly list: ConversationList;
  /** Offers the key that undoes the last action. */
  readonly mail: MailActions;
  readonly texts: InboxTexts;
}

interface LabelledEmail {
  readonly id: number;
  readonly conversationId: number;
  readonly labels: readonly string[] | null;
}

const pageSize = 1000;
const conversationsPerRequest = 200;

export async function applyLabels(
  context: LabelActionContext,
  rows: readonly Conversation[],
  change: LabelChange,
): Promise<void> {
  const { client, application, list, mail, texts } = context;
  const keys = rows.map(({ id }) => id);
  const show = (labels: (before: readonly string[]) => readonly string[]): void => {
    for (const key of keys)
      patchThread(application, key, (email) => ({ ...email, labels: labels(email.labels ?? []) }));
  };
  show((before) => changeLabels(before, change));
  const end = list.patch(keys, (row) => ({ ...row, labels: changeLabels(row.labels ?? [], change) }));
  try {
    const emails = await readLabelled(client, keys);
    await writeLabels(client, emails, (before) => changeLabels(before, change));
    const undo = async (): Promise<void> => {
      dismiss();
      mail.forgetUndo(runUndo);
      const before = new Map(emails.map(({ id, labels }) => [id, labels ?? []]));
      for (const key of keys)
        patchThread(application, key, (email) => ({ ...email, labels: before.get(email.id) ?? email.labels ?? [] }));
      await writeLabels(client, emails, (labels) => labels).catch((error) => handleError(context, error));
      for (const key of keys) invalidateThread(application, key);
    };
    const runUndo = (): void => void undo();
    mail.offerUndo(runUndo);
    const dismiss = toast(texts.team.labels.done(rows.length), { action: { label: texts.undo, run: runUndo } });
  } catch (error) {
    handleError(context, error);
  }
  end();
  for (const key of keys) {
    list.markStale(key);
    invalidateThread(application, key);
  }
}

async function readLabelled(client: Client, conversations: readonly number[]): Promise<readonly LabelledEmail[]> {
  const found: LabelledEmail[] = [];
  for (let from = 0; from < conversations.length; from += conversationsPerRequest) {
    const filter = { conversationId: { $in: conversations.slice(from, from + conversationsPerRequest) } };
    let after: string | null = null;
    do {
      const query: object = { filter, fields: ['id', 'conversationId', 'labels'], pageSize, ...(after && { after }) };
      const { data, meta } = await client.call<LabelledEmail[], ListMeta>('emails:list', { query });
      found.push(...data);
      after = meta.nextCursor;
    } while (after !== null);
  }
  return found;
}

/** Writes labels, e-mails with the same labels in one request. */
async function writeLabels(
  client: Client,
  emails: readonly LabelledEmail[],
  change: (before: readonly string[]) => readonly string[],
): Promise<void> {
  const groups = Map.groupBy(emails, ({ labels }) => JSON.stringify(change(labels ?? [])));
  for (const [text, group] of groups) {
    const labels = JSON.parse(text) as readonly string[];
    const ids = group.map(({ id }) => id);
    await writeInBatches(ids, (batch) => client.post('emails:batchUpdate', { ids: batch, labels }));
  }
}

function handleError({ texts }: LabelActionContext, error: unknown): void {
  const isDenied = error instanceof Failure && error.status === 403;
  const why = { label: texts.why, run: () => explainDenied({ resource: 'emails', action: 'batchUpdate' }) };
  toast(getErrorMessage(error), { failed: true, ...(isDenied && { action: why }) });
}
