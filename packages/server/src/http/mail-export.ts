/** An account's mail, or a mailbox of it, as an mbox that is sent while it is made. */

import { bothRows } from '../access/mail-sight.ts';
import { mailboxesOf } from '../database/mail/account-rows.ts';
import { rawOf } from '../database/mail/email-rows.ts';
import type { FileMessage, MailFlag } from '../mail/files/mail-file.ts';
import { writeMbox } from '../mail/files/mbox-writer.ts';
import { type AskedFolder, withFolders } from '../mail/search/asked-mail.ts';
import { ApiError } from '../protocol/api-error.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { accountInSight } from '../records/mail-account.ts';
import { listRecords, requireGrant } from '../records/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { withGrants } from '../records/with-grants.ts';
import type { Field } from '../schema/registry.ts';
import { type Answer, type Call, contextOf } from './call.ts';
import { knownParameters } from './known-parameters.ts';
import { requireWhole } from './mail-reads.ts';

const pageMessages = 200;

/** What a page tells of a message. */
interface Listed {
  readonly id: number;
  readonly receivedAt: string;
  readonly read: boolean;
  readonly starred: boolean;
  readonly answered: boolean;
  readonly draft: boolean;
}

export async function runExport(call: Call): Promise<Answer> {
  const context = contextOf(call);
  requireExport(context);
  const { account: named, mailbox } = knownParameters(call, ['account', 'mailbox'], false);
  if (typeof named !== 'string' || named === '')
    throw new ApiError('PARAMETER_INVALID', 'account: name the account by its id or its address.');
  if (mailbox !== undefined && (typeof mailbox !== 'string' || mailbox === ''))
    throw new ApiError('PARAMETER_INVALID', 'mailbox: name the mailbox by its path or its role.');
  const account = await accountInSight(context, named);
  const folders = mailbox === undefined ? [] : [{ folder: await folderOf(context, account.id, mailbox), not: false }];
  return {
    stream: writeMbox(messages(call, account.id, folders)),
    contentType: 'application/mbox',
    filename: `${account.address}.mbox`,
  };
}

async function folderOf({ database }: RecordContext, account: number, named: string): Promise<string> {
  const all = await mailboxesOf(database, account);
  const found = all.find(({ path }) => path === named) ?? all.find(({ role }) => role === named.toLowerCase());
  if (found) return found.role ?? found.path;
  throw new ApiError('REFERENCE_MISSING', 'mailbox: the account has no such mailbox.');
}

/** Page by page, the oldest first, each under what the caller may do then. */
async function* messages(call: Call, accountId: number, folders: readonly AskedFolder[]): AsyncGenerator<FileMessage> {
  const { blobs } = call.application.mail;
  const fields = ['id', 'receivedAt', 'read', 'starred', 'answered', 'draft'];
  let after: string | null = null;
  do {
    const context = exporting(await call.contextNow());
    const asked = {
      filter: { accountId },
      fields,
      sort: 'id',
      pageSize: pageMessages,
      count: 'none',
      ...(after !== null && { after }),
    };
    const emails = context.registry.get('emails');
    const { data, meta } = await listRecords(
      context,
      emails,
      withFolders(normaliseRequest('list', asked, false), folders),
    );
    for (const each of JSON.parse(data) as Listed[]) {
      const stored = await rawOf(context.database, each.id);
      const raw = stored && (await blobs.get(stored.account, stored.sha256));
      // What is destroyed meanwhile is not there any more.
      if (raw) yield { raw, receivedAt: each.receivedAt, flags: flagsOf(each) };
    }
    after = meta.nextCursor;
  } while (after !== null);
}

function flagsOf({ read, starred, answered, draft }: Listed): MailFlag[] {
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
  requireWhole(context, 'list');
}

/** Lists what the grants on list and on export both reach. */
function exporting(context: RecordContext): RecordContext {
  requireExport(context);
  const emails = context.registry.get('emails');
  const list = requireGrant(context, emails, 'list');
  const whole = requireGrant(context, emails, 'export');
  const grant = {
    identity: `${list.identity} and ${whole.identity}`,
    rows: bothRows(list.rows, whole.rows),
    may: (field: Field) => list.may(field),
  };
  return withGrants(context, { resource: 'emails', action: 'list', grant });
}
