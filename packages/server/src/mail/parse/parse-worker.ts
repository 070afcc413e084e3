import { parentPort } from 'node:worker_threads';
import { parseMail } from './parse-mail.ts';

/** Takes raw messages, one at a time, and gives what is stored of each. */
parentPort!.on('message', async (raw: Uint8Array) => {
  const mail = await parseMail(raw);
  parentPort!.postMessage(
    mail,
    mail.attachments.map(({ bytes }) => bytes.buffer as ArrayBuffer),
  );
});
