/**
 * Parses the members of a message in a request. Addresses are checked one by one, because they are put into headers; nothing that
 * ends a line passes.
 */
import { invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanFilename } from '../parse/attachment-name.ts';
import type { MailAddress } from '../parse/parsed-mail.ts';

/** A file that a request contains, or the id of a stored attachment. */
export type MailFileInput =
  | { readonly id: number }
  | {
      readonly filename: string | null;
      readonly contentType: string;
      readonly contentId: string | null;
      readonly bytes: Buffer;
    };

/** The parsed members of a message. Absent members are undefined. */
export interface MailInput {
  /** Null: the address of the account. */
  readonly from?: MailAddress | null | undefined;
  readonly to?: readonly MailAddress[] | undefined;
  readonly cc?: readonly MailAddress[] | undefined;
  readonly bcc?: readonly MailAddress[] | undefined;
  readonly subject?: string | undefined;
  readonly text?: string | null | undefined;
  readonly html?: string | null | undefined;
  readonly files?: readonly MailFileInput[] | undefined;
}

/** Names of a message's members in a request. */
export const mailInputNames = ['from', 'to', 'cc', 'bcc', 'subject', 'text', 'html', 'attachments'] as const;

type Details = Record<string, string>;

/** Parses the members of a message. @throws ApiError 422 naming each wrong member. */
export function parseMailInput(body: Readonly<Record<string, unknown>>): MailInput {
  const details: Details = {};
  const lists = (['to', 'cc', 'bcc'] as const).map((name) => parseAddressList(body[name], name, details));
  const [to, cc, bcc] = lists;
  if (lists.reduce((count, list) => count + (list?.length ?? 0), 0) > mailLimits.recipients)
    details['to'] = `A message goes to at most ${mailLimits.recipients} addresses.`;
  const mailInput = {
    from: parseFrom(body['from'], details),
    to,
    cc,
    bcc,
    subject: parseSubject(body['subject'], details),
    text: parseText(body['text'], 'text', mailLimits.textLength, details),
    html: parseText(body['html'], 'html', mailLimits.htmlLength, details),
    files: parseFiles(body['attachments'], details),
  };
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return mailInput;
}

/** One addr-spec of RFC 5321 without comments, quoted parts and routes, so that no header can contain a second address. */
const addressPattern =
  /^[^\s@<>(),;:"[\]\\\p{C}]{1,64}@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?)(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?)*$/u;

function parseAddressList(input: unknown, name: string, details: Details): MailAddress[] | undefined {
  if (input === undefined) return undefined;
  if (input === null) return [];
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  return list.slice(0, mailLimits.recipients + 1).flatMap((each, index) => {
    const found = parseMailAddress(each);
    if (found) return [found];
    details[Array.isArray(input) ? `${name}[${index}]` : name] =
      'Give one address such as "ann@example.com", or {"name", "address"}; several as a list.';
    return [];
  });
}

function parseFrom(input: unknown, details: Details): MailAddress | null | undefined {
  if (input === undefined || input === null) return input;
  const found = parseMailAddress(input);
  if (!found) details['from'] = 'Give one address of the account, such as "ann@example.com", or {"name", "address"}.';
  return found;
}

/** One address of a message; null for anything else. */
export function parseMailAddress(input: unknown): MailAddress | null {
  const { name = '', address, ...rest } = isObject(input) ? input : { address: input };
  if (Object.keys(rest).length > 0 || typeof address !== 'string') return null;
  if (address.length > 254 || !addressPattern.test(address) || !address.isWellFormed()) return null;
  const displayName = name ?? '';
  if (
    typeof displayName !== 'string' ||
    displayName.length > 200 ||
    /\p{Cc}/u.test(displayName) ||
    !displayName.isWellFormed()
  )
    return null;
  return { name: displayName.trim(), address };
}

function parseSubject(input: unknown, details: Details): string | undefined {
  if (input === undefined) return undefined;
  const { subjectLength } = mailLimits;
  const text = input ?? '';
  if (
    typeof text === 'string' &&
    text.length <= subjectLength &&
    !/[\p{Cc}\u2028\u2029]/u.test(text) &&
    text.isWellFormed()
  )
    return text;
  details['subject'] =
    `Give one line of at most ${subjectLength} characters. It must not contain control characters such as U+0000, or a lone surrogate.`;
  return undefined;
}

function parseText(input: unknown, name: string, maxLength: number, details: Details): string | null | undefined {
  if (input === undefined || input === null) return input;
  if (typeof input === 'string' && input.length <= maxLength && !input.includes('\0') && input.isWellFormed())
    return input;
  details[name] = `Give a text of at most ${maxLength} characters. It must not contain U+0000 or a lone surrogate.`;
  return undefined;
}

const contentTypePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i;

function parseFiles(input: unknown, details: Details): MailFileInput[] | undefined {
  if (input === undefined) return undefined;
  const list: unknown = input ?? [];
  if (!Array.isArray(list) || list.length > mailLimits.files) {
    details['attachments'] = `Give a list of at most ${mailLimits.files} files.`;
    return undefined;
  }
  return list.flatMap((each: unknown, index) => {
    const found = parseFile(each);
    if (typeof found !== 'string') return [found];
    details[`attachments[${index}]`] = found;
    return [];
  });
}

/** @returns the file, or a text that says what is wrong. */
function parseFile(input: unknown): MailFileInput | string {
  if (!isObject(input)) return 'Give {"filename", "contentType", "content"}, or {"id"} of a stored attachment.';
  if ('id' in input) {
    const hasOnlyId = Object.keys(input).length === 1 && Number.isSafeInteger(input['id']);
    return hasOnlyId
      ? { id: input['id'] as number }
      : 'A stored attachment is named by {"id"} only; leave the other properties out.';
  }
  const { filename = null, contentType = 'application/octet-stream', contentId = null, content, ...rest } = input;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return `"${unknown.slice(0, 60)}" is not a property of a file. Omit it.`;
  if (typeof content !== 'string' || !/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(content))
    return 'content: give the bytes as base64.';
  return parseNewFile(filename, contentType, contentId, Buffer.from(content, 'base64'));
}

/** Parses a new file. @returns the file, or a text that says what is wrong. */
export function parseNewFile(
  filename: unknown,
  contentType: unknown,
  contentId: unknown,
  bytes: Buffer,
): Exclude<MailFileInput, { id: number }> | string {
  if (filename !== null && (typeof filename !== 'string' || filename.length > 255 || /\p{Cc}/u.test(filename)))
    return 'filename: give a name of at most 255 characters on one line.';
  if (typeof contentType !== 'string' || !contentTypePattern.test(contentType))
    return 'contentType: give a type such as image/png, without parameters.';
  if (contentId !== null && (typeof contentId !== 'string' || !/^[\w.@+-]{1,200}$/.test(contentId)))
    return 'contentId: give letters, digits and . @ + - _, at most 200.';
  return { filename: cleanFilename(filename), contentType: contentType.toLowerCase(), contentId, bytes };
}
