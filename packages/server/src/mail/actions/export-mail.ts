/** `emails:export`: streams the mail of an account, or of one of its mailboxes, as an mbox file. */
import { readMailboxes } from '../../database/mail/account-rows.ts';
import { readRawBlob } from '../../database/mail/email-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { combineRowFilters } from '../../query/visibility.ts';
import { listRecords } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { withGrants } from '../../records/with-grants.ts';
import type { Field } from '../../schema/registry.ts';
import type { FileMessage, MailFlag } from '../files/mail-file.ts';
import { writeMbox } from '../files/mbox-writer.ts';
import { addFolderConditions, type FolderCondition } from '../search/mail-list-request.ts';
import { findVisibleAccount } from '../visible-account.ts';
import { requireEmailGrant, requireFullReadAccess } from './mail-access.ts';
import type { MailRequest, MailStream } from './mail-request.ts';

const messagesPerPage = 200;

/** The fields of an e-mail that an mbox needs. */
interface ListedEmail {
  readonly id: number;
  readonly receivedAt: string;
  readonly read: boolean;
  readonly starred: boolean;
  readonly answered: boolean;
  readonly draft: boolean;
}

/** `emails:export`, for roles that may read every field of e-mails and attachments. */
export async function runExport(request: MailRequest): Promise<MailStream> {
  const { context } = request;
  requireExport(context);
  const { account: named, mailbox } = request.knownParameters(['account', 'mailbox'], false);
  if (typeof named !== 'string' || named === '')
    throw new ApiError('PARAMETER_INVALID', '"account" must be the id or the address of an account.');
  if (mailbox !== undefined && (typeof mailbox !== 'string' || mailbox === ''))
    throw new ApiError('PARAMETER_INVALID', '"mailbox" must be the path or the role of a mailbox.');
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
  throw new ApiError('REFERENCE_MISSING', '"mailbox" names no mailbox of the account.');
}

/** Reads page by page, oldest first. Each page is read with the caller's current grants. */
async function* exportMessages(
  { mail, contextNow }: MailRequest,
  accountId: number,
  folders: readonly FolderCondition[],
): AsyncGenerator<FileMessage> {
  const fields = ['id', 'receivedAt', 'read', 'starred', 'answered', 'draft'];
  let after: string | null = null;
  do {
    const context = withExportGrants(await contextNow());
    const parameters = {
      filter: { accountId },
      fields,
      sort: 'id',
      pageSize: messagesPerPage,
      count: 'none',
      ...(after !== null && { after }),
    };
    const { data, meta } = await listRecords(
      context,
      context.registry.get('emails'),
      addFolderConditions(normaliseRequest('list', parameters, false), folders),
    );
    for (const each of JSON.parse(data) as ListedEmail[]) {
      const stored = (await readRawBlob(context.database, each.id)) ?? (await fetchRawBlob(context, mail, each.id));
      const raw = stored && (await mail.blobs.get(stored.account, stored.sha256));
      // An e-mail that was deleted since the page was read is left out.
      if (raw) yield { raw, receivedAt: each.receivedAt, flags: toMailFlags(each) };
    }
    after = meta.nextCursor;
  } while (after !== null);
}

/** Reads a message whose body is still on the mail server; null where it was deleted. @throws ApiError `MAIL_BODY_REMOTE`. */
async function fetchRawBlob(
  { database }: RecordContext,
  mail: MailRequest['mail'],
  email: number,
): Promise<Awaited<ReturnType<typeof readRawBlob>>> {
  try {
    return (await mail.fetchBody(email)) ? await readRawBlob(database, email) : null;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'MAIL_BODY_DELETED') return null;
    throw error;
  }
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
  requireEmailGrant(context, 'export');
  requireFullReadAccess(context, 'list');
}

/** The context with a grant to list the e-mails that the grants for list and for export both include. */
function withExportGrants(context: RecordContext): RecordContext {
  requireExport(context);
  const { grant: list } = requireEmailGrant(context, 'list');
  const { grant: whole } = requireEmailGrant(context, 'export');
  const grant = {
    identity: `${list.identity} and ${whole.identity}`,
    rows: combineRowFilters(list.rows, whole.rows),
    may: (field: Field) => list.may(field),
  };
  return withGrants(context, { resource: 'emails', action: 'list', grant });
}
