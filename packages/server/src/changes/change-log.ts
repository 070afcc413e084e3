/**
 * The event log of an application. Rows enter in the transaction of the change they tell of, and are read only as far
 * as they are durable: nothing is told to anyone that a crash could take back.
 */
import { type Database, fixed, type Transaction } from '../database/database.ts';
import { type BindEnvironment, listValue, literal, type Param, type Sql, sql, value } from '../database/sql.ts';
import type { Caller } from '../identity/caller.ts';
import type { Storage } from '../schema/field-type.ts';
import { actOf, noteAct } from './acts.ts';

/** What happened to one record or definition, about to be logged. */
export interface NewEvents {
  /** `<resource>.created|updated|destroyed`. */
  readonly name: string;
  readonly resource: string;
  readonly tks: readonly string[];
  readonly actor: string | null;
  readonly requestId: string | null;
  readonly changed: readonly string[];
  /** Who did it, where it is an administrative act: then it enters the audit journal too. Null for records of users. */
  readonly by: Caller | null;
}

export interface ChangeEvent {
  readonly cursor: string;
  readonly at: string;
  readonly name: string;
  readonly resource: string;
  readonly tk: string | null;
  readonly actor: string | null;
  readonly requestId: string | null;
  readonly changed: readonly string[];
}

export class ChangeLog {
  readonly #database: Database;
  readonly #acted: () => void;
  readonly #listeners = new Set<() => void>();
  readonly #told: ((events: NewEvents, at: string) => void) | null;
  /** Position of the last durable event of this process; only where one process writes. */
  #durable = 0;

  /**
   * @param acted is called when administrative acts are durable and wait for the audit journal.
   * @param told is called with events that this process has made durable; null where nobody asks.
   */
  constructor(database: Database, acted: () => void, told: ((events: NewEvents, at: string) => void) | null = null) {
    this.#told = told;
    this.#database = database;
    this.#acted = acted;
  }

  /** Everything that an earlier run left is durable once the database is open. */
  async open(): Promise<void> {
    if (this.#database.dialect.shared) return;
    const [rows] = await this.#database.read([{ text: 'SELECT ifnull(max(id),0) FROM _events', values: [] }]);
    this.#durable = rows![0]![0] as number;
  }

  /** Logs inside the transaction; readers see it when the transaction is durable. */
  async append(transaction: Transaction, events: NewEvents, at: string): Promise<void> {
    if (events.tks.length === 0) return;
    const { dialect } = this.#database;
    const rows = await transaction.run(
      fixed(dialect, insertEvents(events, at, dialect.rowsOf(listValue('text', events.tks)))),
    );
    const position = rows.at(-1)![0] as number;
    transaction.afterDurable(() => this.advance(position));
    if (this.#told) transaction.afterDurable(() => this.#told!(events, at));
    if (events.by === null) return;
    await noteAct(this.#database, transaction, actOf(events, events.by, at));
    transaction.afterDurable(this.#acted);
  }

  /** Tells listeners that there is more to read. */
  advance(position: number): void {
    this.#durable = Math.max(this.#durable, position);
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after more events have become durable; returns what ends that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Durable events after a cursor, oldest first.
   *
   * @param since a cursor that this log gave, or null for the oldest kept event.
   */
  async read(since: string | null, limit: number): Promise<ChangeEvent[]> {
    const { dialect } = this.#database;
    const [first = '0', second = '0'] = (since ?? '0.0').split('.');
    const statement = dialect.shared
      ? sql`SELECT xid::text, id, to_char(at AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), name, resource, tk, actor, request_id, changed
FROM _events WHERE (xid, id) > (${value('text', first)}::xid8, ${value('bigint', second)}) AND xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY _events.xid, id LIMIT ${limit}`
      : sql`SELECT 0, id, at, name, resource, tk, actor, request_id, changed FROM _events WHERE id > ${value('bigint', second)} AND id <= ${value('bigint', this.#durable)} ORDER BY id LIMIT ${limit}`;
    const [rows] = await this.#database.read([fixed(dialect, statement)]);
    return rows!.map(eventOf);
  }
}

/** The INSERT of events whose keys come from `source`, rows with a column `v`. */
function insertEvents(events: NewEvents, at: string, source: Sql): Sql {
  return eventInsert(events.name, events.resource, source, {
    at: value('datetime', at),
    actor: value('text', events.actor),
    requestId: value('text', events.requestId),
    changed: value('json', events.changed),
  });
}

/** The same INSERT with values of the environment, for a statement that writes a record and its event in one. */
export function fusedEventInsert(name: string, resource: string, source: Sql): Sql {
  const of = (member: keyof BindEnvironment['event'], storage: Storage): Param => ({
    storage,
    read: ({ event }) => event[member],
  });
  return eventInsert(name, resource, source, {
    at: of('at', 'datetime'),
    actor: of('actor', 'text'),
    requestId: of('requestId', 'text'),
    changed: of('changed', 'json'),
  });
}

function eventInsert(
  name: string,
  resource: string,
  source: Sql,
  { at, actor, requestId, changed }: Record<keyof BindEnvironment['event'], Param>,
): Sql {
  return sql`INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)
SELECT ${at},${literal(name)},${literal(resource)},v,${actor},${requestId},${changed} FROM ${source} RETURNING id`;
}

function eventOf(row: readonly unknown[]): ChangeEvent {
  const [first, second, at, name, resource, tk, actor, requestId, changed] = row as readonly (string | null)[];
  return {
    cursor: `${first}.${second}`,
    at: at!,
    name: name!,
    resource: resource!,
    tk: tk!,
    actor: actor!,
    requestId: requestId!,
    changed: JSON.parse(changed!) as string[],
  };
}
