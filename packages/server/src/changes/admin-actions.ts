/**
 * Administrative actions that wait to be moved to the audit journal. An action is written to the application's store in
 * the transaction of the change itself, so that neither exists without the other, even after kill -9. The journal then
 * moves it to its own store.
 */
import { randomUUID } from 'node:crypto';
import { insertAdminAction } from '../database/audit-rows.ts';
import type { Database, Transaction } from '../database/database.ts';
import { type Caller, formatActor, type Origin } from '../identity/caller.ts';

/** The caller of an action, as the journal names them. Never contains a token, an e-mail address or a value of a record. */
export interface AuditActor {
  readonly actor: string | null;
  readonly credential: { readonly type: string; readonly id: number } | null;
  readonly role: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
}

export interface AdminAction extends AuditActor {
  /** A UUID, so that an action enters the journal only once. */
  readonly uid: string;
  readonly at: string;
  /** `<resource>:<action>`. */
  readonly action: string;
  readonly resource: string;
  /** Keys of the changed records; empty if the action is not about records. */
  readonly targets: readonly string[];
  /** Whether the targets were destroyed: the journal then deletes what it stores about them. */
  readonly destroyed: boolean;
}

/** A change, as the event log describes it. */
export interface CompletedChange {
  readonly name: string;
  readonly resource: string;
  readonly keys: readonly string[];
  readonly requestId: string | null;
}

/** The caller of a request as the journal names them. */
export function toAuditActor(caller: Caller, requestId: string | null): AuditActor {
  return {
    actor: formatActor(caller),
    credential: caller.credentialId === null ? null : { type: caller.type, id: caller.credentialId },
    role: caller.role,
    address: caller.origin?.address ?? null,
    requestId,
  };
}

/** Records an action in the transaction that does it. */
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

function formatRequestedAction({ action, tool }: Origin): string {
  return tool ? formatToolAction(tool.name) : action;
}

/** The action of an entry about a call of a tool: `mcp:create_posts`. */
export function formatToolAction(tool: string): string {
  return `mcp:${tool}`;
}

/**
 * The action that caused an event: the requested one if it is of the event's resource, otherwise the generated action
 * with the same effect.
 */
export function toAdminAction(
  { name, resource, keys, requestId }: CompletedChange,
  caller: Caller,
  time: string,
): Omit<AdminAction, 'uid'> {
  const verb = name.slice(name.indexOf('.') + 1);
  const { origin } = caller;
  const action = origin?.action.startsWith(`${resource}:`)
    ? formatRequestedAction(origin)
    : `${resource}:${verbs[verb] ?? verb}`;
  return {
    ...toAuditActor(caller, requestId),
    at: time,
    action,
    resource,
    targets: keys,
    destroyed: verb === 'destroyed',
  };
}
