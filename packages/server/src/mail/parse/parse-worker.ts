import { parentPort } from 'node:worker_threads';
import { parseMail } from './parse-mail.ts';
import type { ParsedMail } from './parsed-mail.ts';

/** `ready` once, then what is stored of each raw message, in the order in which they came. */
export type ParserAnswer = 'ready' | ParsedMail;

const answer = (message: ParserAnswer, moved: ArrayBuffer[] = []): void => parentPort!.postMessage(message, moved);

parentPort!.on('message', async (raw: Uint8Array) => {
  const mail = await parseMail(raw);
  answer(
    mail,
    mail.attachments.map(({ bytes }) => bytes.buffer as ArrayBuffer),
  );
});
answer('ready');
