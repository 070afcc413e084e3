import { setImmediate as nextTurn } from 'node:timers/promises';

/** Number of bytes that are copied in one step of about a millisecond. */
const stepBytes = 2 * 1024 * 1024;

/**
 * Joins pieces into bytes that parser threads read in place. A message of 50 MB is copied once, in steps of 2 MB between which
 * the event loop handles other work. Short messages get a normal buffer, which is copied to the thread.
 *
 * @param pieces must not change until the promise resolves.
 */
export async function toSharedBytes(pieces: readonly Uint8Array[]): Promise<Uint8Array> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const isShort = length <= stepBytes;
  const bytes = new Uint8Array(isShort ? new ArrayBuffer(length) : new SharedArrayBuffer(length));
  let written = 0;
  let untilYield = stepBytes;
  for (const piece of pieces)
    for (let from = 0; from < piece.length; from += stepBytes) {
      const step = piece.subarray(from, from + stepBytes);
      bytes.set(step, written);
      written += step.length;
      untilYield -= step.length;
      if (untilYield > 0 || isShort) continue;
      untilYield = stepBytes;
      await nextTurn();
    }
  return bytes;
}
