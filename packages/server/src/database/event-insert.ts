/** The statement that logs events. It is the same on both engines, with fixed values or inside a statement that writes records. */
import type { Storage } from '../schema/field-type.ts';
import { compile, type Statement } from './database.ts';
import type { Dialect } from './dialect.ts';
import { type BindEnvironment, literal, type Param, type Sql, sql } from './sql.ts';

/** What every event of one statement has in common. */
export interface EventName {
  /** Such as `orders.created`. */
  readonly name: string;
  readonly resource: string;
}

/** The values that the events of one statement share. */
export type EventParams = Readonly<Record<keyof BindEnvironment['event'], Param>>;

const intoEvents = sql`INSERT INTO _events (at,name,resource,tk,actor,request_id,changed)`;

/**
 * An INSERT of one event for each row of `source`, which has the record's key in the column `v`. Returns the events' ids.
 *
 * Example: `INSERT INTO _events (at,name,…) SELECT ?,'orders.created','orders',v,?,?,? FROM (SELECT value AS v …) RETURNING id`
 */
export function insertEvents({ name, resource }: EventName, source: Sql, params: EventParams): Sql {
  const { at, actor, requestId, changed } = params;
  return sql`${intoEvents}
SELECT ${at},${literal(name)},${literal(resource)},v,${actor},${requestId},${changed} FROM ${source} RETURNING id`;
}

/** Event values that are read from the environment when the statement runs: for compiled statements that are reused. */
export const environmentEventParams: EventParams = {
  at: readEventValue('at', 'datetime'),
  actor: readEventValue('actor', 'text'),
  requestId: readEventValue('requestId', 'text'),
  changed: readEventValue('changed', 'json'),
};

/** The key of an environment as the key of an event. */
const environmentKey: Param = { storage: 'text', read: ({ key }) => key };

/** The statements that log one event. */
export interface EventInsert {
  readonly plain: Statement;
  /** The same statement, which returns the id of the event. */
  readonly returning: Statement;
}

/** Compiles the statements that log one event. Its key and its other values are read from the environment. */
export function compileEventInsert(dialect: Dialect, { name, resource }: EventName): EventInsert {
  const { at, actor, requestId, changed } = environmentEventParams;
  const named = sql`${at},${literal(name)},${literal(resource)},${environmentKey}`;
  const insert = sql`${intoEvents} VALUES (${named},${actor},${requestId},${changed})`;
  return { plain: compile(dialect, insert), returning: compile(dialect, sql`${insert} RETURNING id`) };
}

function readEventValue(member: keyof BindEnvironment['event'], storage: Storage): Param {
  return { storage, read: ({ event }) => event[member] };
}
