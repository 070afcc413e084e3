import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { importMail } from './import-mail.ts';

/** An mbox upload whose client disconnects after one message was written to the temporary file. */
async function* interruptedUpload(): AsyncGenerator<Buffer> {
  yield Buffer.from('From a@b.example Thu Aug 22 12:36:23 2002\nSubject: x\n\ny\n\n');
  await setTimeout(20);
  throw new Error('the client disconnected');
}

test('an interrupted upload closes its temporary file only once', async () => {
  const target = { account: { id: 1 }, mailbox: null, flags: null, receivedAt: null };
  for (let round = 0; round < 5; round += 1) {
    const upload = { type: 'application/mbox', format: null, bytes: Readable.from(interruptedUpload()) };
    // A second close fails with EBADF, or closes the descriptor of a connection that has just been opened.
    await expect(importMail({} as never, target as never, upload, {} as never)).rejects.toThrow(
      'the client disconnected',
    );
  }
});
