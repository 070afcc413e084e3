/** The addresses that the user can send from, with their signatures. */
import type { Account, Identity } from '../mail-types.ts';
import { textToHtml } from './draft-html.ts';

/** A signature in both forms. */
export interface Signature {
  readonly text: string;
  readonly html: string;
}

export interface Sender {
  readonly accountId: number;
  /** In lower case. */
  readonly address: string;
  /** As it is shown: `Shop <shop@example.com>`. */
  readonly label: string;
  readonly signature: Signature | null;
}

/** The address of each account, followed by its verified aliases. */
export function listSenders(accounts: readonly Account[]): readonly Sender[] {
  return accounts.flatMap((account) => {
    const { id, name, address, identities } = account;
    const own = (identities ?? []).find((each) => isSame(each.address, address));
    const aliases = (identities ?? []).filter((each) => each.verifiedAt !== null && !isSame(each.address, address));
    const toSender = (sender: Pick<Identity, 'address'> & Partial<Identity>): Sender => ({
      accountId: id,
      address: sender.address.toLowerCase(),
      label: formatLabel(sender.name ?? name, sender.address),
      signature: readSignature(sender, account),
    });
    return [own ?? { address }, ...aliases].map(toSender);
  });
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
const formatLabel = (name: string | null | undefined, address: string): string =>
  name ? `${name} <${address}>` : address;

/** The signature of an identity; without one, that of the account. */
function readSignature({ signature }: Partial<Identity>, account: Account): Signature | null {
  if (signature) return { text: signature.text ?? '', html: signature.html ?? textToHtml(signature.text ?? '') };
  const text = account.signature?.trim() ?? '';
  return text === '' ? null : { text, html: textToHtml(text) };
}
