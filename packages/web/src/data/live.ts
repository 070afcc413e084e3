/** Events of a collection while a page shows it: one connection for each application and role. */
import type { Event } from '@tablinum/client';
import { Realtime } from '@tablinum/client/realtime';
import { useEffect, useEffectEvent } from 'react';
import { type Scope, useScope } from './queries.ts';
import { session } from './session.ts';

const connections = new Map<string, Realtime>();

function connectionOf([application, role]: Scope): Realtime {
  const key = JSON.stringify([application, role, session.token(application)]);
  let connection = connections.get(key);
  if (!connection) {
    connection = new Realtime({ application, token: () => session.token(application), role: () => role });
    connections.set(key, connection);
  }
  return connection;
}

function each(act: (connection: Realtime) => void): void {
  for (const connection of connections.values()) act(connection);
}

/** Somebody looks again: nobody waits for the next attempt. */
addEventListener('focus', () => each((connection) => connection.connect()));
/** The network is another one, or the page was asleep: a connection may be dead without knowing. */
const awake = (): void => each((connection) => connection.reconnect());
addEventListener('online', awake);
addEventListener('pageshow', ({ persisted }) => persisted && awake());
document.addEventListener('resume', awake);

/** Browsers let timers of hidden pages run once a minute; a gap that is longer was a sleep. In milliseconds. */
const beat = 5000;
const longestBeat = 90_000;
let lastBeat = Date.now();
setInterval(() => {
  const slept = Date.now() - lastBeat > longestBeat;
  lastBeat = Date.now();
  if (slept) awake();
}, beat);

/**
 * Calls `heard` for each event of a collection, and `lost` where events went by unheard: then read again. So may `begun` be:
 * what was read before somebody listened may lack what happened in between.
 */
export function useLive(
  resource: string,
  heard: (event: Event) => void,
  lost: () => void,
  begun: () => void = () => {},
): void {
  const [application, role] = useScope();
  const onEvent = useEffectEvent(heard);
  const onResync = useEffectEvent(lost);
  const onBegun = useEffectEvent(begun);
  useEffect(() => {
    let listening = false;
    const subscribed = (): void => {
      if (!listening) onBegun();
      listening = true;
    };
    const listener = { event: (event: Event) => onEvent(event), resync: () => onResync(), subscribed };
    return connectionOf([application, role]).subscribe({ resource }, listener);
  }, [application, role, resource]);
}
