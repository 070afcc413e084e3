/** The addresses that an account sends as: its own, and aliases at which it has proved to receive mail. Pure: no input or output. */
import type { Sender } from '../../database/mail/draft-rows.ts';
import type {
  AccountAddresses,
  AliasProof,
  StoredIdentity,
  StoredSignature,
} from '../../database/mail/identity-rows.ts';
import { invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { MailAddress } from '../parse/parsed-mail.ts';
import { toEnvelopeAddress } from './smtp-abilities.ts';

const maxNameLength = 200;

/** Display name and signature in a request, for an address that the account sends as. An absent signature stays unchanged. */
export type IdentityInput = Pick<StoredIdentity, 'address' | 'name' | 'signature'>;

/**
 * Parses `identities` of a request. `verifiedAt` is ignored, so that a client can send back what it has read.
 *
 * @param normaliseAddress gives null for text that is no address.
 * @throws ApiError 422 naming the entry.
 */
export function parseIdentities(
  input: unknown,
  normaliseAddress: (text: unknown) => string | null,
): readonly IdentityInput[] {
  if (input === null) return [];
  const form = 'Give a list of {"address", "name", "signature"}, one for the address of the account or an alias.';
  if (!Array.isArray(input) || input.length > mailLimits.aliases + 1) throw invalidValues({ identities: form });
  const details: Record<string, string> = {};
  const identities = input.map((each: unknown, index): IdentityInput => {
    const {
      address: given,
      name = null,
      signature,
      verifiedAt: _,
      ...rest
    } = isObject(each) ? each : { address: null };
    const address = normaliseAddress(given);
    const isName = name === null || (typeof name === 'string' && isDisplayName(name));
    if (address === null || Object.keys(rest).length > 0) details[`identities.${index}`] = form;
    else if (!isName) details[`identities.${index}.name`] = `Give one line of at most ${maxNameLength} characters.`;
    const parsed = parseSignature(signature);
    if (parsed === 'invalid') details[`identities.${index}.signature`] = signatureForm;
    return {
      address: address ?? '',
      name: typeof name === 'string' && name.trim() !== '' ? name.trim() : null,
      ...(parsed !== undefined && parsed !== 'invalid' && { signature: parsed }),
    };
  });
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return identities;
}

const maxSignatureLength = 20_000;
const signatureForm = `Give null, or {"text", "html"} of at most ${maxSignatureLength} characters each; one of them may be null.`;

/** @returns undefined if the request says nothing about it. */
function parseSignature(input: unknown): StoredSignature | null | undefined | 'invalid' {
  if (input === undefined || input === null) return input;
  if (!isObject(input)) return 'invalid';
  const { text = null, html = null, ...rest } = input;
  const isForm = (form: unknown): form is string | null =>
    form === null ||
    (typeof form === 'string' && form.length <= maxSignatureLength && !form.includes('\0') && form.isWellFormed());
  if (Object.keys(rest).length > 0 || !isForm(text) || !isForm(html)) return 'invalid';
  const isEmpty = (form: string | null): boolean => form === null || form.trim() === '';
  if (isEmpty(text) && isEmpty(html)) return null;
  return { text: isEmpty(text) ? null : text, html: isEmpty(html) ? null : html };
}

function isDisplayName(text: string): boolean {
  return text.length <= maxNameLength && !/[\p{Cc}\u2028\u2029]/u.test(text) && text.isWellFormed();
}

/**
 * The identities of an account after its addresses or names have changed: one for its address and one for each alias. Proofs of
 * former aliases end.
 *
 * @param names what the request gives; null: the present names.
 * @throws ApiError 422 for a name of another address.
 */
export function completeIdentities(
  account: AccountAddresses,
  names: readonly IdentityInput[] | null,
): Pick<AccountAddresses, 'identities' | 'proofs'> {
  const addresses = [account.address, ...account.aliases.filter((each) => !isSame(each, account.address))];
  const details = (names ?? []).flatMap(({ address }, index) =>
    addresses.some((each) => isSame(each, address))
      ? []
      : [[`identities.${index}.address`, 'Add the address to "aliases" of the account first.']],
  );
  if (details.length > 0) throw invalidValues(Object.fromEntries(details));
  const known = names ?? account.identities;
  const proofs = keepSentCodes(account);
  const identities = addresses.map((address): StoredIdentity => {
    const proof = account.proofs[address.toLowerCase()];
    if (proof && !isSame(address, account.address)) proofs[address.toLowerCase()] = proof;
    const entry = known.find((each) => isSame(each.address, address));
    const stored = account.identities.find((each) => isSame(each.address, address))?.signature ?? null;
    const signature = entry?.signature === undefined ? stored : entry.signature;
    return { address, name: entry?.name ?? null, verifiedAt: proof?.verifiedAt ?? null, signature };
  });
  return { identities, proofs };
}

/** Codes of former aliases that are remembered. */
const maxFormerCodes = 200;

/**
 * Codes that were sent to former aliases. They are kept, so that removing an alias and adding it again does not allow
 * another code to be sent immediately.
 */
function keepSentCodes({ aliases, proofs }: AccountAddresses): Record<string, AliasProof> {
  const present = new Set(aliases.map((each) => each.toLowerCase()));
  const former = Object.entries(proofs).filter(([address, { code }]) => !present.has(address) && code !== undefined);
  const byAge = former.sort(([, one], [, other]) => ((one.code?.sentAt ?? '') < (other.code?.sentAt ?? '') ? -1 : 1));
  return Object.fromEntries(byAge.slice(-maxFormerCodes));
}

/** The addresses that an account may send as, in lower case. */
export function listSenderAddresses({ address, aliases, proofs }: AccountAddresses): ReadonlySet<string> {
  const verified = aliases.filter((each) => proofs[each.toLowerCase()]?.verifiedAt !== undefined);
  return new Set([address, ...verified].map((each) => each.toLowerCase()));
}

/** Whether an account may send as an address, in Unicode or in ASCII. */
export function maySendAs(account: AccountAddresses, address: string): boolean {
  const wanted = toEnvelopeAddress(address).toLowerCase();
  return [...listSenderAddresses(account)].some((each) => toEnvelopeAddress(each).toLowerCase() === wanted);
}

/**
 * The sender of a message.
 *
 * @param from what the message names; null: the address of the account.
 * @throws ApiError 422 for an address that the account may not send as.
 */
export function selectSender(account: AccountAddresses, from: MailAddress | null): Sender {
  const address = from?.address ?? account.address;
  const isAlias = account.aliases.some((each) => isSame(each, address));
  if (!listSenderAddresses(account).has(address.toLowerCase()))
    throw invalidValues({
      from: isAlias
        ? 'The alias is not verified yet: have a code sent to it with accounts:verifyAlias, and enter it with accounts:confirmAlias.'
        : 'The account may not send as this address. Add it to "aliases" of the account, and verify it with accounts:verifyAlias.',
    });
  const named = account.identities.find((each) => isSame(each.address, address));
  return { name: from?.name || named?.name || account.name, address: named?.address ?? address };
}

/**
 * The address under which a reply is sent: the one at which the message was received, or from which it was sent.
 *
 * @returns null: the address of the account.
 */
export function chooseReplySender(
  account: AccountAddresses,
  { from, to, cc }: { readonly [Name in 'from' | 'to' | 'cc']: readonly MailAddress[] },
): MailAddress | null {
  const usable = listSenderAddresses(account);
  const used = [...from, ...to, ...cc].find(({ address }) => usable.has(address.toLowerCase()));
  return used && !isSame(used.address, account.address) ? { name: '', address: used.address.toLowerCase() } : null;
}

function isSame(one: string, second: string): boolean {
  return one.toLowerCase() === second.toLowerCase();
}
