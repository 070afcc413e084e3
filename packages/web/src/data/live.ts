/** Events of a collection while a page shows it: one connection for each application and role. */
import type { Event } from '@tablinum/client';
import { Realtime, type RealtimeState } from '@tablinum/client/realtime';
import { useEffect, useEffectEvent } from 'react';
import { clientOf } from './application.tsx';
import { type Scope, useScope } from './queries.ts';
import { onReturn, probe } from './reachability.ts';
import { session } from './session.ts';

const connections = new Map<string, Realtime>();

function connectionOf([application, role]: Scope): Realtime {
  const key = JSON.stringify([application, role, session.generation(application)]);
  let connection = connections.get(key);
  if (!connection) {
    connection = new Realtime({ application, token: () => session.token(application), role: () => role });
    connection.watch((state) => stateChanged(application, state));
    connections.set(key, connection);
  }
  return connection;
}

/** A connection that was refused or lost: one request finds out whether the login is over or the server is away. */
function stateChanged(application: string, state: RealtimeState): void {
  if (state === 'unauthorised' && session.state(application) === 'valid')
    void clientOf(application)
      .auth.check()
      .catch(() => {});
  if (state === 'waiting') void probe();
}

/** A new token, or a server that is back: connections that were refused or lost begin again. */
session.watchToken(() => each((connection) => connection.connect()));
onReturn(() => each((connection) => connection.connect()));

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
