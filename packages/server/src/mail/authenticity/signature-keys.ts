/** Names of the DNS records that hold the keys of a message's signatures. */
import { domainToASCII } from 'node:url';
import { isAligned } from './mail-authentication.ts';
import { maxSeals, maxSignatures } from './signature-report.ts';

type Headers = readonly (readonly [name: string, value: string])[];

const signatureHeaders: ReadonlySet<string> = new Set(['dkim-signature', 'arc-message-signature', 'arc-seal']);
/** Longer headers are no signatures; a key of 16,384 bits makes 2,700 characters. */
const maxHeaderLength = 8 * 1024;

/** Whether a message has headers whose check needs its body. */
export function hasSignatures(headers: Headers): boolean {
  return headers.some(([name]) => signatureHeaders.has(name.toLowerCase()));
}

/**
 * The names of the keys of those signatures that are checked, each once, in lower case.
 *
 * @param sender the domain of the sender.
 */
export function listKeyNames(headers: Headers, sender: string | null): string[] {
  const keys = headers.flatMap(([name, value]) => {
    const kind = name.toLowerCase();
    const key = signatureHeaders.has(kind) ? readKey(value) : null;
    return key ? [{ kind, ...key }] : [];
  });
  const signatures = selectSignatures(
    keys.filter(({ kind }) => kind === 'dkim-signature'),
    ({ domain }) => isAligned(domain, sender),
  );
  const seals = keys.filter(({ kind }) => kind !== 'dkim-signature');
  const checked = seals.length > 2 * maxSeals ? signatures : [...signatures, ...seals];
  return [...new Set(checked.map(({ name }) => name))];
}

/** The signatures that are checked: those of the sender first, then the topmost; in their order. */
export function selectSignatures<T>(signatures: readonly T[], isOfSender: (signature: T) => boolean): T[] {
  if (signatures.length <= maxSignatures) return [...signatures];
  const selected = new Set(
    [...signatures.filter(isOfSender), ...signatures.filter((each) => !isOfSender(each))].slice(0, maxSignatures),
  );
  return signatures.filter((each) => selected.has(each));
}

/** The signing domain and the name of the key of a signature; null where it has none. */
export function readKey(value: string): { readonly domain: string; readonly name: string } | null {
  if (value.length > maxHeaderLength) return null;
  const domain = toAscii(readTag(value, 'd'));
  const selector = toAscii(readTag(value, 's'));
  return domain && selector ? { domain, name: `${selector}._domainkey.${domain}` } : null;
}

function readTag(value: string, tag: 'd' | 's'): string {
  for (const part of value.split(';')) {
    const equals = part.indexOf('=');
    if (equals !== -1 && part.slice(0, equals).trim().toLowerCase() === tag)
      return part
        .slice(equals + 1)
        .replace(/\s+/g, '')
        .toLowerCase();
  }
  return '';
}

/** Underscores are allowed in selectors, so only names beyond ASCII are converted. */
function toAscii(name: string): string {
  return /^[\0-\x7f]*$/.test(name) ? name : domainToASCII(name);
}
