/** Common parts of the actions that write messages: the draft that is continued, and the composed message. */
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext, TransactionContext } from '../../records/record-context.ts';
import { addSignature } from '../compose/add-signature.ts';
import type { MailInput } from '../compose/mail-input.ts';
import {
  createDraft,
  type DraftBase,
  mailLockKey,
  type PreparedMail,
  requireEditableDraft,
} from '../compose/write-mail.ts';
import { findVisibleAccount } from '../visible-account.ts';
import type { BodyValues, MailData, MailRequest, MailWriteOptions } from './mail-request.ts';
import { readWholeEmail } from './read-mail.ts';

/** Whether a request continues a draft, which needs another grant than a new message. */
export function isDraftNamed({ parameters, body }: MailRequest): boolean {
  return parameters()['filterByTk'] !== undefined || (isObject(body) && body['id'] !== undefined);
}

/**
 * The draft that a request continues, or a new one in the account that it names.
 *
 * @param key of the draft; null for a new message.
 * @param named id or address of the account, for a new message.
 * @throws ApiError 403 or 404 for a draft that the caller cannot change; 400 or 422 for the account.
 */
export async function loadDraftBase(request: MailRequest, key: number | null, named: unknown): Promise<DraftBase> {
  const { context } = request;
  if (key !== null) {
    if (named !== undefined)
      throw new ApiError('BODY_INVALID', '"account" of a draft cannot be changed; leave it out.');
    const { previous, draft } = await requireEditableDraft(context, key, request.ifMatch());
    return { account: await findVisibleAccount(context, String(previous.accountId)), previous, draft };
  }
  if (typeof named !== 'string' && typeof named !== 'number')
    throw invalidValues({ account: 'Name the account that you write from, by its id or its address.' });
  const account = await findVisibleAccount(context, String(named));
  return { account, previous: null, draft: createDraft(account) };
}

/** What a request writes, with the signature of the sender below it. */
export async function signMail(
  context: RecordContext,
  { account, draft }: DraftBase,
  written: MailInput,
): Promise<MailInput> {
  const isBodyGiven = written.text !== undefined || written.html !== undefined;
  const { text = null, html = null } = isBodyGiven ? written : draft;
  const from = written.from === undefined ? (draft.from ?? null) : written.from;
  return { ...written, ...(await addSignature(context, account.id, from, { text, html })) };
}

/** @throws ApiError 422 naming the member that is no boolean. */
export function requireBooleans(values: BodyValues): void {
  for (const [name, value] of Object.entries(values))
    if (typeof value !== 'boolean') throw invalidValues({ [name]: 'Give true or false.' });
}

/** Writes of mail of one account are serialised. */
export function lockAccount({ account }: PreparedMail): MailWriteOptions {
  return { lockKey: mailLockKey(account) };
}

/** An e-mail as a get shows it; only its key for a role that may not get it. */
export async function showEmail(tx: TransactionContext, id: number): Promise<MailData> {
  const keyOnly = { data: JSON.stringify({ id }) };
  if (!tx.findGrant('emails', 'get')) return keyOnly;
  return readWholeEmail(tx, id).catch((error: unknown) => {
    if (error instanceof ApiError && error.label === 'No permissions') return keyOnly;
    throw error;
  });
}
