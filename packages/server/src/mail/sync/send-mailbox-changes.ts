import type { DueOperation } from '../../database/mail/operation-rows.ts';
import type { SendContext } from './operation-outcome.ts';

/** Creates, renames or deletes a mailbox of the server. Each change may have been made already by an interrupted attempt. */
export async function changeMailbox(context: SendContext, group: readonly DueOperation[]): Promise<void> {
  for (const each of group)
    if (each.kind === 'createMailbox') await createMailbox(context, each);
    else if (each.kind === 'renameMailbox') await renameMailbox(context, each);
    else await deleteMailbox(context, each);
}

async function createMailbox({ session, outcome }: SendContext, operation: DueOperation): Promise<void> {
  const delimiter = readDelimiter(await session.client.list());
  const { path } = await session.client.mailboxCreate(toServerPath(operation.path ?? '', delimiter));
  await outcome.complete(operation, { rawPath: path, delimiter });
}

async function renameMailbox({ session, outcome }: SendContext, operation: DueOperation): Promise<void> {
  const listed = await session.client.list();
  const delimiter = readDelimiter(listed);
  const target = toServerPath(operation.path ?? '', delimiter);
  const source = operation.rawPath ?? '';
  const paths = new Set(listed.map(({ path }) => path));
  if (!paths.has(source) && !paths.has(target)) return outcome.drop(operation, null);
  if (paths.has(source)) await session.client.mailboxRename(source, target);
  await outcome.complete(operation, { rawPath: target, delimiter });
}

/** A mailbox with messages that are not known here is not deleted. */
async function deleteMailbox({ session, outcome }: SendContext, operation: DueOperation): Promise<void> {
  const path = operation.rawPath ?? '';
  const paths = new Set((await session.client.list()).map((each) => each.path));
  if (!paths.has(path)) return outcome.complete(operation);
  const { exists } = await session.select(path);
  if (exists > 0)
    return outcome.drop(operation, {
      code: 'mailboxNotEmpty',
      message: `The mailbox "${path}" was not deleted on the mail server, because it contains ${exists} messages there.`,
      cure: 'Move or delete the messages first. The mailbox is shown here again.',
    });
  await session.client.mailboxDelete(path);
  await outcome.complete(operation);
}

/** The text that separates the parts of mailbox names on this server. */
function readDelimiter(listed: readonly { readonly delimiter: string }[]): string {
  return listed.find(({ delimiter }) => delimiter)?.delimiter ?? '/';
}

/** Paths are joined by `/` here. */
function toServerPath(path: string, delimiter: string): string {
  return delimiter === '/' ? path : path.split('/').join(delimiter);
}
