/** Changes of many e-mails at once: move, destroy, and set flags. */
import { ApiError, booleanExpected } from '../../protocol/api-error.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import { getRules } from '../../records/system/system-rules.ts';
import { updateRecords } from '../../records/write/write-records.ts';
import { getField } from '../../schema/registry.ts';
import { findEmailLocks } from '../store/mail-transaction.ts';
import { destroyEmails, type MailboxName, type MovedEmails, moveEmails } from '../store/move-mail.ts';
import { parseEmailKeys } from './email-keys.ts';
import { requireEmailGrant } from './mail-access.ts';
import { type MailData, type MailRequest, type MailWriteOptions, readBodyObject } from './mail-request.ts';

/** At most this many are changed on the event loop, which takes some milliseconds. */
const maxKeysOnEventLoop = 20;

/** A move into more mailboxes is refused. */
const maxMailboxes = 100;

/** `emails:move`: moves e-mails into a mailbox of their account, or into several. */
export async function runMove(request: MailRequest): Promise<MailData> {
  const { emails, grant } = requireEmailGrant(request.context, 'update');
  if (!grant.may(getField(emails, 'mailbox')))
    throw new ApiError('FIELD_DENIED', 'The role may not write "mailbox" of emails, so it cannot move them.');
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const { mailbox, from = null, ids } = readBodyObject(request, ['ids', 'mailbox', 'from']);
  const mailboxes: readonly unknown[] = Array.isArray(mailbox) ? mailbox : [mailbox];
  if (!mailboxes.every(isMailboxName) || mailboxes.length === 0)
    throw new ApiError(
      'BODY_INVALID',
      '"mailbox" must be the path, the role or the id of a mailbox, or a list of them.',
    );
  if (mailboxes.length > maxMailboxes)
    throw new ApiError('LIMIT_EXCEEDED', `"mailbox" must name at most ${maxMailboxes} mailboxes.`);
  if (from !== null && !isMailboxName(from))
    throw new ApiError('BODY_INVALID', '"from" must be the path, the role or the id of the mailbox that is left.');
  if (from !== null && Array.isArray(mailbox))
    throw new ApiError('BODY_INVALID', '"from" requires that "mailbox" is one mailbox. Remove "from", or the list.');
  const keys = parseEmailKeys(filterByTk, ids);
  return request.write(await buildWriteOptions(request, keys), async (tx) =>
    toMailData(request, await moveEmails(tx, keys, mailboxes, from)),
  );
}

const isMailboxName = (value: unknown): value is MailboxName =>
  typeof value === 'number' || (typeof value === 'string' && value !== '');

/** The mailboxes in which e-mails were are only named to roles that may read the mailbox of an e-mail, and may move it. */
function toMailData({ context }: MailRequest, { count, undo }: MovedEmails): MailData {
  const mailbox = getField(context.registry.get('emails'), 'mailbox');
  const mayUndo = ['get', 'update'].every((action) => context.findGrant('emails', action)?.may(mailbox));
  return { data: String(count), meta: { undo: mayUndo ? undo : [] } };
}

/** `emails:destroy`: moves e-mails to the trash, and deletes those that are in it. With `force`, deletes all of them. */
export async function runDestroy(request: MailRequest): Promise<MailData> {
  requireEmailGrant(request.context, 'destroy');
  const { filterByTk, force } = request.knownParameters(['filterByTk', 'force']);
  const keys = parseEmailKeys(filterByTk, readBodyObject(request, ['ids'])['ids']);
  return request.write(await buildWriteOptions(request, keys), async (tx) =>
    toMailData(request, await destroyEmails(tx, keys, parseForce(force))),
  );
}

function parseForce(force: unknown): boolean {
  if (force === undefined || force === 'false') return false;
  if (force === 'true') return true;
  throw booleanExpected('force');
}

/** `emails:batchUpdate`: flags of many e-mails, under the rules of an update of each. */
export async function runBatchUpdate(request: MailRequest): Promise<MailData> {
  const { emails } = requireEmailGrant(request.context, 'update');
  const { filterByTk } = request.knownParameters(['filterByTk']);
  const { ids, ...values } = readBodyObject(request, null);
  const keys = parseEmailKeys(filterByTk, ids);
  return request.write(await buildWriteOptions(request, keys), async (tx) => {
    const { data } = await updateRecords(tx, emails, requestByKeys('update', keys), {
      body: values,
      rules: getRules(emails),
    });
    return { data };
  });
}

async function buildWriteOptions({ context }: MailRequest, keys: readonly number[]): Promise<MailWriteOptions> {
  const lockKey = await findEmailLocks(context.database, keys);
  return { heavy: keys.length > maxKeysOnEventLoop, lockKey };
}
