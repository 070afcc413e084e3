import type { DueOperation } from '../../database/mail/operation-rows.ts';
import { normaliseFlags, splitLabels } from '../store/server-flags.ts';
import { type SendContext, selectForGroup } from './operation-outcome.ts';
import type { ReportedFlags } from './sync-session.ts';
import { formatUidSet } from './uid-set.ts';

/** Attempts after which a flag that the server accepts and does not store is given up. */
const maxIgnored = 3;

/**
 * Changes flags with +FLAGS and -FLAGS, never with FLAGS, so that changes of other programs stay. The result is read again: a server may
 * accept a change and store nothing.
 */
export async function storeFlags(context: SendContext, group: readonly DueOperation[]): Promise<void> {
  const { session, outcome } = context;
  const selected = await selectForGroup(context, group);
  const change = group[0]?.flags;
  if (!selected || !change) return;
  const uids = group.flatMap(({ uid }) => uid ?? []);
  const set = formatUidSet(uids);
  const [add, remove] = [splitLabels(change.add), splitLabels(change.remove)];
  const { client } = session;
  // A refusal of the server is detected when the flags are read.
  if (add.flags.length > 0) await client.messageFlagsAdd(set, add.flags, { uid: true });
  if (remove.flags.length > 0) await client.messageFlagsRemove(set, remove.flags, { uid: true });
  if (add.labels.length > 0) await client.messageFlagsAdd(set, add.labels, { uid: true, useLabels: true });
  if (remove.labels.length > 0) await client.messageFlagsRemove(set, remove.labels, { uid: true, useLabels: true });
  const reported = new Map((await session.fetchFlags(uids)).map((each) => [each.uid, each]));
  const gone: DueOperation[] = [];
  for (const each of group) {
    const now = reported.get(each.uid ?? 0);
    if (!now) gone.push(each);
    else if (hasChange(now, change)) await outcome.complete(each, now);
    else if (each.attempts < maxIgnored) await outcome.fail(each, session.refuse('the flags'));
    else
      await outcome.drop(each, {
        code: 'flagsIgnored',
        message: `The mail server does not store the flags ${describe(change)} of messages in "${each.path ?? ''}".`,
        cure: 'Nothing is to be done: the flags are shown here as the server has them.',
      });
  }
  await outcome.markGone(gone);
}

function hasChange({ flags, labels }: ReportedFlags, { add, remove }: NonNullable<DueOperation['flags']>): boolean {
  const has = new Set(normaliseFlags(flags, labels).map((name) => name.toLowerCase()));
  return add.every((name) => has.has(name.toLowerCase())) && !remove.some((name) => has.has(name.toLowerCase()));
}

function describe({ add, remove }: NonNullable<DueOperation['flags']>): string {
  return [...add.map((name) => `+${name}`), ...remove.map((name) => `-${name}`)].join(' ');
}
