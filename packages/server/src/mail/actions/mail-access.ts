/**
 * Grants for actions on whole messages. They need more than one record's grant, because a message contains every field.
 */
import { hasOwnRowFilter } from '../../access/grants.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { Grant } from '../../query/grant.ts';
import { requireGrant } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Collection } from '../../schema/registry.ts';
import type { BodyValues } from './mail-request.ts';

/** The collection of e-mails, and the caller's grant on it. @throws ApiError `NO_PERMISSION` */
export function requireEmailGrant(
  context: RecordContext,
  action: string,
): { readonly emails: Collection; readonly grant: Grant } {
  const emails = context.registry.get('emails');
  return { emails, grant: requireGrant(context, emails, action) };
}

/**
 * Messages are complete before they are stored, and no row filter is applied to them. @throws ApiError `NO_PERMISSION`
 */
export function refuseRowFilter({ caller, access, registry }: RecordContext): void {
  if (hasOwnRowFilter(caller.role, 'emails', 'create', { table: access, registry }))
    throw new ApiError('NO_PERMISSION', 'A role with a row filter on emails cannot create messages.');
}

/** The grant to write messages. @throws ApiError `NO_PERMISSION` */
export function requireWriter(context: RecordContext, action: 'create' | 'update'): void {
  requireEmailGrant(context, action);
  if (action === 'create') refuseRowFilter(context);
}

/** The fields in which the members of a message are stored. */
const fieldByMember: Readonly<Record<string, string>> = {
  to: 'to',
  cc: 'cc',
  subject: 'subject',
  bcc: 'content',
  text: 'content',
  html: 'content',
  attachments: 'attachments',
};

/** @throws ApiError `FIELD_DENIED` for a member of a message that the role may not write. */
export function requireWritable(context: RecordContext, action: 'create' | 'update', body: BodyValues): void {
  const { emails, grant } = requireEmailGrant(context, action);
  for (const name of Object.keys(body)) {
    const field = emails.byName.get(fieldByMember[name] ?? name);
    if (!field || !grant.may(field)) throw new ApiError('FIELD_DENIED', `The role may not write "${name}" of emails.`);
  }
}

/** An imported message can set every field. @throws ApiError `FIELD_DENIED` unless the role may write all of them. */
export function requireFullWriteAccess(context: RecordContext): void {
  const { emails, grant } = requireEmailGrant(context, 'create');
  const denied = emails.fields.find((field) => field.core && !field.hidden && !grant.may(field));
  if (denied)
    throw new ApiError('FIELD_DENIED', `The role may not write "${denied.name}" of emails, so it cannot import them.`);
}

/**
 * The raw bytes of a message contain all of its fields, so only roles that may read every field of e-mails and
 * attachments get them.
 *
 * @throws ApiError `FIELD_DENIED`, `NO_PERMISSION`
 */
export function requireFullReadAccess(context: RecordContext, action: 'get' | 'list'): void {
  const { registry, caller, access } = context;
  for (const name of ['emails', 'attachments']) {
    const collection = registry.get(name);
    const grant = requireGrant(context, collection, name === 'emails' ? action : 'get');
    const denied = collection.fields.find((field) => field.core && !field.hidden && !grant.may(field));
    if (denied)
      throw new ApiError(
        'FIELD_DENIED',
        `The role may not read "${denied.name}" of ${name}, so it cannot read whole messages.`,
      );
  }
  if (hasOwnRowFilter(caller.role, 'attachments', 'get', { table: access, registry }))
    throw new ApiError('NO_PERMISSION', 'A role with a row filter on attachments cannot read whole messages.');
}
