import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

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
    }
    response.end();
  } catch {
    response.destroy();
  }
}

/** Resolves when there is room again, or the client has disconnected. */
async function waitForDrain(response: ServerResponse): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  const events = ['drain', 'close'].map((name) => once(response, name, { signal }));
  await Promise.race(events).finally(() => done.abort());
  await Promise.allSettled(events);
}
