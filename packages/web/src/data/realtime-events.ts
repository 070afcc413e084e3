/** Realtime events of a collection while a page shows it. There is one connection for each application and role. */
import type { Event } from '@tablinum/client';
import {
  type Presence,
  type PresenceActivity,
  type PresentUser,
  Realtime,
  type RealtimeState,
} from '@tablinum/client/realtime';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { getClient } from './application.tsx';
import { type Scope, useScope } from './queries.ts';
import { onReconnect, probe } from './reachability.ts';
import { session } from './session.ts';

const connections = new Map<string, Realtime>();

function getConnection([application, role]: Scope): Realtime {
  const key = JSON.stringify([application, role, session.generation(application)]);
  let connection = connections.get(key);
  if (!connection) {
    connection = new Realtime({ application, token: () => session.token(application), role: () => role });
    connection.watch((state) => handleStateChange(application, state));
    connections.set(key, connection);
  }
  return connection;
}

/**
 * After a refused or lost connection, one request finds out whether the session has ended or the server is unreachable.
 */
function handleStateChange(application: string, state: RealtimeState): void {
  if (state === 'unauthorised' && session.state(application) === 'valid')
    void getClient(application)
      .auth.check()
      .catch(() => {});
  if (state === 'waiting') void probe();
}

/** After a new token or a reconnect, refused and lost connections are opened again. */
session.watchToken(() => forEachConnection((connection) => connection.connect()));
onReconnect(() => forEachConnection((connection) => connection.connect()));

function forEachConnection(action: (connection: Realtime) => void): void {
  for (const connection of connections.values()) action(connection);
}

/** The tab got the focus: reconnect without waiting for the next attempt. */
addEventListener('focus', () => forEachConnection((connection) => connection.connect()));
/** After a network change or a sleep, a connection may be dead without an event. */
const reconnectAll = (): void => forEachConnection((connection) => connection.reconnect());
addEventListener('online', reconnectAll);
addEventListener('pageshow', ({ persisted }) => persisted && reconnectAll());
document.addEventListener('resume', reconnectAll);

/** Browsers run timers of hidden pages at least once a minute, so a longer gap was a sleep. In milliseconds. */
const heartbeatInterval = 5000;
const maxHeartbeatGap = 90_000;
let lastHeartbeat = Date.now();
setInterval(() => {
  const hasSlept = Date.now() - lastHeartbeat > maxHeartbeatGap;
  lastHeartbeat = Date.now();
  if (hasSlept) reconnectAll();
}, heartbeatInterval);

/**
 * Calls `heard` for each event of a collection, and `lost` after a gap in the events, when data must be read again.
 * `begun` is called when the subscription starts: data that was read before may be outdated by then.
 */
export function useRealtimeEvents(
  resource: string,
  handleEvent: (event: Event) => void,
  handleGap: () => void,
  handleSubscribed: () => void = () => {},
): void {
  const [application, role] = useScope();
  const onEvent = useEffectEvent(handleEvent);
  const onResync = useEffectEvent(handleGap);
  const onSubscribed = useEffectEvent(handleSubscribed);
  useEffect(() => {
    let isListening = false;
    const handleFirstSubscription = (): void => {
      if (!isListening) onSubscribed();
      isListening = true;
    };
    const listener = {
      event: (event: Event) => onEvent(event),
      resync: () => onResync(),
      subscribed: handleFirstSubscription,
    };
    return getConnection([application, role]).subscribe({ resource }, listener);
  }, [application, role, resource]);
}

const nobody: readonly PresentUser[] = [];

/**
 * Announces that the user has a record open. @returns the other users who have it open.
 */
export function usePresence(resource: string, key: number, activity: PresenceActivity): readonly PresentUser[] {
  const [application, role] = useScope();
  const [present, setPresent] = useState(nobody);
  const announced = useRef<Presence>(null);
  const getActivity = useEffectEvent(() => activity);
  useEffect(() => {
    const presence = getConnection([application, role]).announce(resource, key, getActivity(), setPresent);
    announced.current = presence;
    return () => {
      presence.end();
      announced.current = null;
      setPresent(nobody);
    };
  }, [application, role, resource, key]);
  useEffect(() => announced.current?.setActivity(activity), [activity]);
  return present;
}
