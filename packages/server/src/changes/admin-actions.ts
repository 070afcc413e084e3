/**
 * Administrative acts on their way to the audit journal. An act waits beside the data, written in the transaction of what
 * was done: neither is there without the other, also after kill -9. The journal takes it over from there.
 */
import { randomUUID } from 'node:crypto';
import { insertAdminAction } from '../database/audit-rows.ts';
import type { Database, Transaction } from '../database/database.ts';
import { type Caller, formatActor } from '../identity/caller.ts';

/** Who did something, as the journal names them. Never a token, an e-mail address or a value of a record. */
export interface AuditActor {
  readonly actor: string | null;
  readonly credential: { readonly type: string; readonly id: number } | null;
  readonly role: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
}

export interface AdminAction extends AuditActor {
  /** Tells an act from all others, so that it enters the journal once. */
  readonly uid: string;
  readonly at: string;
  /** `<resource>:<action>`. */
  readonly action: string;
  readonly resource: string;
  /** Keys of what was changed; none for acts on nothing in particular. */
  readonly targets: readonly string[];
  /** Nothing of it is left to be known: what the journal's store keeps of the targets goes. */
  readonly destroyed: boolean;
}

/** What was done, as the event log has it. */
export interface CompletedChange {
  readonly name: string;
  readonly resource: string;
  readonly keys: readonly string[];
  readonly requestId: string | null;
}

export function toAuditActor(caller: Caller, requestId: string | null): AuditActor {
  return {
    actor: formatActor(caller),
    credential: caller.credentialId === null ? null : { type: caller.type, id: caller.credentialId },
    role: caller.role,
    address: caller.origin?.address ?? null,
    requestId,
  };
}

/** Notes an act in the transaction that does it. */
export async function recordAdminAction(
  database: Database,
  transaction: Transaction,
  adminAction: Omit<AdminAction, 'uid'>,
): Promise<void> {
  await insertAdminAction(database, transaction, { uid: randomUUID(), ...adminAction } satisfies AdminAction);
}

const verbs: Readonly<Record<string, string>> = {
  created: 'create',
  updated: 'update',
  destroyed: 'destroy',
  restored: 'restore',
};

/** The act that an event tells of: as it was asked for, or the generated action that does the same. */
export function toAdminAction(
  { name, resource, keys, requestId }: CompletedChange,
  caller: Caller,
  time: string,
): Omit<AdminAction, 'uid'> {
  const verb = name.slice(name.indexOf('.') + 1);
  const requestedAction = caller.origin?.action;
  const action = requestedAction?.startsWith(`${resource}:`) ? requestedAction : `${resource}:${verbs[verb] ?? verb}`;
  return {
    ...toAuditActor(caller, requestId),
    at: time,
    action,
    resource,
    targets: keys,
    destroyed: verb === 'destroyed',
  };
}
