import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as afterOthers } from 'node:timers/promises';

/**
 * Writes pieces as fast as the client reads them. If the client disconnects, the stream ends. If the stream fails, the
 * connection is closed, so that the client does not mistake a part for the complete reply.
 *
 * @param headOnly the request was HEAD.
 */
export async function sendPieces(
  response: ServerResponse,
  pieces: AsyncGenerator<string | Uint8Array>,
  headOnly: boolean,
): Promise<void> {
  try {
    if (headOnly) await pieces.return(undefined);
    for await (const piece of pieces) {
      if (response.destroyed) return;
      if (!response.write(piece)) await waitForDrain(response);
      // A fast client drains at once. Without this, other requests would wait for the end of the stream.
      await afterOthers();
    }
    response.end();
  } catch {
    abort(response);
  }
}

/**
 * In HTTP/1.0, which some proxies use, the reply ends with the connection. Only a reset shows the client that it is
 * incomplete.
 */
function abort(response: ServerResponse): void {
  if (response.req.httpVersion === '1.0') response.socket?.resetAndDestroy();
  response.destroy();
}

/** Resolves when there is room again, or the client has disconnected. */
async function waitForDrain(response: ServerResponse): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  const events = ['drain', 'close'].map((name) => once(response, name, { signal }));
  await Promise.race(events).finally(() => done.abort());
  await Promise.allSettled(events);
}
