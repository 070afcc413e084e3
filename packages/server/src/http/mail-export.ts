/** An account's mail, or a mailbox of it, as an mbox that is sent while it is made. */

import { combineRowFilters } from '../access/mail-visibility.ts';
import { readMailboxes } from '../database/mail/account-rows.ts';
import { readRawBlob } from '../database/mail/email-rows.ts';
import type { FileMessage, MailFlag } from '../mail/files/mail-file.ts';
import { writeMbox } from '../mail/files/mbox-writer.ts';
import { addFolderConditions, type FolderCondition } from '../mail/search/mail-list-request.ts';
import { ApiError } from '../protocol/api-error.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { listRecords, requireGrant } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { findVisibleAccount } from '../records/visible-account.ts';
import { withGrants } from '../records/with-grants.ts';
import type { Field } from '../schema/registry.ts';
import { readKnownParameters } from './known-parameters.ts';
import { requireFullReadAccess } from './mail-reads.ts';
import { type ActionResult, getRecordContext, type RequestContext } from './request-context.ts';

const messagesPerPage = 200;

/** What a page tells of a message. */
interface ListedEmail {
  readonly id: number;
  readonly receivedAt: string;
  readonly read: boolean;
  readonly starred: boolean;
  readonly answered: boolean;
  readonly draft: boolean;
}

export async function runExport(request: RequestContext): Promise<ActionResult> {
  const context = getRecordContext(request);
  requireExport(context);
  const { account: named, mailbox } = readKnownParameters(request, ['account', 'mailbox'], false);
  if (typeof named !== 'string' || named === '')
    throw new ApiError('PARAMETER_INVALID', 'account: name the account by its id or its address.');
  if (mailbox !== undefined && (typeof mailbox !== 'string' || mailbox === ''))
    throw new ApiError('PARAMETER_INVALID', 'mailbox: name the mailbox by its path or its role.');
  const account = await findVisibleAccount(context, named);
  const folders = mailbox === undefined ? [] : [{ folder: await findFolder(context, account.id, mailbox), not: false }];
  return {
    stream: writeMbox(exportMessages(request, account.id, folders)),
    contentType: 'application/mbox',
    filename: `${account.address}.mbox`,
  };
}

async function findFolder({ database }: RecordContext, account: number, named: string): Promise<string> {
  const all = await readMailboxes(database, account);
  const found = all.find(({ path }) => path === named) ?? all.find(({ role }) => role === named.toLowerCase());
  if (found) return found.role ?? found.path;
  throw new ApiError('REFERENCE_MISSING', 'mailbox: the account has no such mailbox.');
}

/** Page by page, the oldest first, each under what the caller may do then. */
async function* exportMessages(
  request: RequestContext,
  accountId: number,
  folders: readonly FolderCondition[],
): AsyncGenerator<FileMessage> {
  const { blobs } = request.application.mail;
  const fields = ['id', 'receivedAt', 'read', 'starred', 'answered', 'draft'];
  let after: string | null = null;
  do {
    const context = withExportGrants(await request.contextNow());
    const parameters = {
      filter: { accountId },
      fields,
      sort: 'id',
      pageSize: messagesPerPage,
      count: 'none',
      ...(after !== null && { after }),
    };
    const emails = context.registry.get('emails');
    const { data, meta } = await listRecords(
      context,
      emails,
      addFolderConditions(normaliseRequest('list', parameters, false), folders),
    );
    for (const each of JSON.parse(data) as ListedEmail[]) {
      const stored = await readRawBlob(context.database, each.id);
      const raw = stored && (await blobs.get(stored.account, stored.sha256));
      // What is destroyed meanwhile is not there any more.
      if (raw) yield { raw, receivedAt: each.receivedAt, flags: toMailFlags(each) };
    }
    after = meta.nextCursor;
  } while (after !== null);
}

function toMailFlags({ read, starred, answered, draft }: ListedEmail): MailFlag[] {
  const flags: readonly (readonly [boolean, MailFlag])[] = [
    [read, 'seen'],
    [starred, 'flagged'],
    [answered, 'answered'],
    [draft, 'draft'],
  ];
  return flags.filter(([set]) => set).map(([, flag]) => flag);
}

function requireExport(context: RecordContext): void {
  requireGrant(context, context.registry.get('emails'), 'export');
  requireFullReadAccess(context, 'list');
}

/** Lists what the grants on list and on export both reach. */
function withExportGrants(context: RecordContext): RecordContext {
  requireExport(context);
  const emails = context.registry.get('emails');
  const list = requireGrant(context, emails, 'list');
  const whole = requireGrant(context, emails, 'export');
  const grant = {
    identity: `${list.identity} and ${whole.identity}`,
    rows: combineRowFilters(list.rows, whole.rows),
    may: (field: Field) => list.may(field),
  };
  return withGrants(context, { resource: 'emails', action: 'list', grant });
}
