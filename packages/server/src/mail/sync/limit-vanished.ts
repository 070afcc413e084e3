import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { ImapFlow } from 'imapflow';

/** UIDs that one VANISHED line may name. */
const maxVanished = 1_000_000;

/** A VANISHED line as the library has parsed it. Its last attribute is the set of UIDs. */
interface VanishedLine {
  readonly attributes?: readonly { readonly value?: unknown }[];
}

/** The method of the library that handles VANISHED. It emits one event for each UID, without yielding to other work. */
interface VanishedHandler {
  untaggedVanished(line: VanishedLine, mailbox?: unknown): Promise<void>;
}

/**
 * Closes the connection if the server names more expunged messages in one line than a mailbox can have lost. Such a line
 * is a few bytes long, and would keep the process busy for seconds. Other work runs between two lines.
 */
export function limitVanished(client: ImapFlow): void {
  const handler = client as unknown as VanishedHandler;
  const handle = handler.untaggedVanished.bind(client);
  handler.untaggedVanished = async (line, mailbox) => {
    await yieldToOthers();
    if (countUids(line.attributes?.at(-1)?.value) <= maxVanished) await handle(line, mailbox);
    else client.close();
  };
}

function countUids(set: unknown): number {
  if (typeof set !== 'string') return 0;
  return set.split(',').reduce((sum, part) => {
    const [first = 0, last = first] = part.split(':').map(Number);
    return sum + Math.abs(last - first) + 1;
  }, 0);
}
