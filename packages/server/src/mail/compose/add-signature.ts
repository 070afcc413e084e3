/** Adds the signature of the sender to a message if the request contains `signature: true`. */
import type { AccountAddresses } from '../../database/mail/identity-rows.ts';
import { readAccountAddresses } from '../../database/mail/identity-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { getField } from '../../schema/registry.ts';
import { escapeText } from '../html/escape-text.ts';
import type { MailAddress } from '../parse/parsed-mail.ts';
import { accountDeletedError } from '../store/account-deleted.ts';
import type { Draft } from './draft.ts';

type Body = Pick<Draft, 'text' | 'html'>;

/** A signature in both forms. */
interface Signature {
  readonly text: string;
  readonly html: string;
}

/** The line before a signature in plain text (RFC 3676, section 4.3). */
const delimiter = '-- ';
const signatureClass = 'gmail_signature';
/** The element with a signature, also after it was sanitised. */
const signaturePattern = new RegExp(`<div class="(?:m-)?${signatureClass}(?: [^"]*)?">`);

/**
 * The body of a message with the signature of its sender. A body that has one already stays unchanged, so that saving a draft
 * again adds none.
 *
 * @param from null: the address of the account.
 * @throws ApiError `FIELD_DENIED` for a role that may not read signatures.
 */
export async function addSignature(
  context: RecordContext,
  account: number,
  from: MailAddress | null,
  body: Body,
): Promise<Body> {
  requireReadableSignatures(context);
  const addresses = await readAccountAddresses(context.database, null, account);
  if (!addresses) throw accountDeletedError();
  const signature = await findSignature(addresses, from?.address ?? addresses.address);
  return signature === null ? body : appendSignature(body, signature);
}

function requireReadableSignatures(context: RecordContext): void {
  const accounts = context.registry.get('accounts');
  const grant = context.findGrant('accounts', 'get');
  for (const name of ['signature', 'identities'])
    if (!grant?.may(getField(accounts, name)))
      throw new ApiError('FIELD_DENIED', `The role may not read "${name}" of accounts, so it cannot add a signature.`);
}

/** The signature of an address; without one, that of the account. */
async function findSignature(account: AccountAddresses, address: string): Promise<Signature | null> {
  const identity = account.identities.find((each) => each.address.toLowerCase() === address.toLowerCase());
  const { text, html } = identity?.signature ?? { text: account.signature, html: null };
  if (html === null)
    return text === null || text.trim() === '' ? null : { text: text.trim(), html: toLines(text.trim()) };
  if (text !== null) return { text: text.trim(), html };
  const { htmlToMessageText } = await import('../html/html-to-text.ts'); // loaded on demand: it is large
  return { text: htmlToMessageText(html).trim(), html };
}

const toLines = (text: string): string =>
  text
    .split('\n')
    .map((line) => `<div>${escapeText(line) || '<br>'}</div>`)
    .join('');

function appendSignature({ text, html }: Body, signature: Signature): Body {
  return {
    text: text === null && html !== null ? null : appendText(text ?? '', signature.text),
    html: html === null ? null : appendHtml(html, signature.html),
  };
}

function appendText(text: string, signature: string): string {
  if (`\n${text}`.includes(`\n${delimiter}\n`)) return text;
  return `${text === '' ? '' : `${text.trimEnd()}\n\n`}${delimiter}\n${signature}\n`;
}

function appendHtml(html: string, signature: string): string {
  if (signaturePattern.test(html)) return html;
  return `${html}<div><br></div><div class="${signatureClass}">${signature}</div>`;
}
