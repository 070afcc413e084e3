/**
 * Aliases as senders: `accounts:verifyAlias` sends a code to an alias, and `accounts:confirmAlias` checks the code. The
 * server's own mailer sends it: if the account itself sent it, the code could be read in its sent messages, without
 * receiving mail at the alias.
 */
import { adminRole } from '../../access/access-table.ts';
import type { Transaction } from '../../database/database.ts';
import {
  type AccountAddresses,
  type AliasProof,
  increaseAccountVersion,
  readAccountAddresses,
  setIdentities,
} from '../../database/mail/identity-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import type { RecordContext } from '../../records/record-context.ts';
import {
  checkAliasCode,
  createAliasProof,
  findCodeWait,
  makeAliasCode,
  requireAlias,
} from '../delivery/alias-codes.ts';
import { completeIdentities } from '../delivery/identities.ts';
import { normaliseAddress } from '../rules/account-values.ts';
import { accountDeletedError } from '../store/account-deleted.ts';
import { emitMailEvent } from '../store/mail-events.ts';
import { requireAccountWriter, requireUpdatableAccount } from './connect-account.ts';
import { type MailData, type MailRequest, readBodyObject } from './mail-request.ts';

/** `accounts:verifyAlias`: sends a code to an alias of an account. */
export async function runVerifyAlias(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  const { id, address } = await readTarget(request, ['address']);
  const { mailer } = mail;
  const { clock } = context;
  if (mailer === null)
    throw invalidValues({
      address:
        'This server cannot send a code, because SMTP_URL is not set. An administrator can confirm the alias without a code.',
    });
  const code = makeAliasCode();
  const proof = createAliasProof(hashCode(context, id, address, code), clock.now());
  await changeProof(context, id, address, (before) => {
    const wait = findCodeWait(before, clock.now());
    if (wait > 0)
      throw new ApiError('RATE_LIMITED', 'A code was sent to the alias just now. Wait a minute before the next one.', {
        retryAfter: Math.ceil(wait / 1000),
      });
    if (before?.verifiedAt !== undefined) throw invalidValues({ address: 'The alias is verified already.' });
    return proof;
  });
  const text = `The code is ${code}\n\nIt allows a mail account of this server to send messages as ${address}. It works for a day.\n\nIf you do not expect it, ignore this e-mail.\n`;
  await mailer.send({ to: address, subject: 'Code for sending from this address', text }).catch(() => {
    throw invalidValues({
      address: 'The code could not be sent to this address. Check the address, and try again later.',
    });
  });
  return { data: JSON.stringify({ address, expiresAt: proof.code?.expiresAt }) };
}

/** `accounts:confirmAlias`: checks the code. Administrators confirm an alias without one. */
export async function runConfirmAlias(request: MailRequest): Promise<MailData> {
  const { context } = request;
  const { id, address, code } = await readTarget(request, ['address', 'code']);
  const isAdmin = context.caller.role === adminRole;
  if (code === undefined && !isAdmin)
    throw invalidValues({ code: 'Give the code that accounts:verifyAlias has sent to the alias.' });
  if (code !== undefined && (typeof code !== 'string' || !/^\s*\d{8}\s*$/.test(code)))
    throw invalidValues({ code: 'Give the eight digits of the code, as a text.' });
  const now = context.clock.now();
  let isRight = false;
  const verifiedAt = new Date(now).toISOString();
  await changeProof(context, id, address, (before = {}) => {
    isRight = true;
    if (before.verifiedAt !== undefined) return before;
    if (code === undefined) return { verifiedAt };
    const checked = checkAliasCode(before, hashCode(context, id, address, String(code).trim()), now);
    isRight = checked.isRight;
    return checked.proof;
  });
  if (!isRight)
    throw invalidValues({ code: 'The code is wrong or has expired. Request another one with accounts:verifyAlias.' });
  return { data: JSON.stringify({ address, verifiedAt }) };
}

interface AliasTarget {
  readonly id: number;
  /** In lower case. */
  readonly address: string;
  readonly code: unknown;
}

async function readTarget(request: MailRequest, names: readonly string[]): Promise<AliasTarget> {
  requireAccountWriter(request.context, 'update');
  const { filterByTk } = request.knownParameters(['filterByTk'], false);
  const { id } = await requireUpdatableAccount(request.context, filterByTk, ['aliases']);
  const { address: given, code } = readBodyObject(request, names);
  const address = normaliseAddress(given);
  if (address === null) throw invalidValues({ address: 'Give one alias of the account, such as support@example.com.' });
  return { id, address, code };
}

function hashCode({ hashToken }: RecordContext, account: number, address: string, code: string): string {
  return hashToken(`alias ${account} ${address} ${code}`);
}

/** Changes the proof of an alias in a transaction of its own, so that wrong codes are counted. */
async function changeProof(
  context: RecordContext,
  account: number,
  address: string,
  change: (before: AliasProof | undefined) => AliasProof,
): Promise<void> {
  const { database } = context;
  const work = async (transaction: Transaction): Promise<void> => {
    const before = await readAccountAddresses(database, transaction, account);
    if (!before) throw accountDeletedError();
    requireAlias(before, address);
    const proof = change(before.proofs[address]);
    const after: AccountAddresses = { ...before, proofs: { ...before.proofs, [address]: proof } };
    await setIdentities(database, transaction, account, completeIdentities(after, null));
    if (proof.verifiedAt === before.proofs[address]?.verifiedAt) return;
    await increaseAccountVersion(database, transaction, account);
    await emitMailEvent(context, transaction, { name: 'accounts.updated', keys: [account], changed: ['identities'] });
  };
  await database.write(work, { lockKey: `mail ${account}` });
}
