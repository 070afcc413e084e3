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

/** The network is back, or the machine woke up: nobody waits for the next attempt. */
function reconnect(): void {
  for (const connection of connections.values()) connection.connect();
}
addEventListener('online', reconnect);
addEventListener('focus', reconnect);

/** Calls `heard` for each event of a collection, and `lost` where events went by unheard: then read again. */
export function useLive(resource: string, heard: (event: Event) => void, lost: () => void): void {
  const [application, role] = useScope();
  const onEvent = useEffectEvent(heard);
  const onResync = useEffectEvent(lost);
  useEffect(() => {
    const listener = { event: (event: Event) => onEvent(event), resync: () => onResync() };
    return connectionOf([application, role]).subscribe({ resource }, listener);
  }, [application, role, resource]);
}
