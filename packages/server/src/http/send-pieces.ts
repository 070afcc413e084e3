import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/**
 * Writes pieces as the client takes them: none is asked for while earlier ones wait. A client that leaves ends the
 * stream; a stream that fails breaks the reply off, so that nobody takes a part for the whole.
 *
 * @param headOnly the request was for the head alone.
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

/** Resolves when there is room again, or nobody to write to. */
async function waitForDrain(response: ServerResponse): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  const events = ['drain', 'close'].map((name) => once(response, name, { signal }));
  await Promise.race(events).finally(() => done.abort());
  await Promise.allSettled(events);
}
