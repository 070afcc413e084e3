import { parentPort } from 'node:worker_threads';
import { mailIdentity } from './mail-identity.ts';
import { parseMail } from './parse-mail.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { unparsable } from './unparsable-mail.ts';

/** Parse a raw message; describe one that cannot be parsed; give the identities of several. */
export type ParserRequest =
  | { readonly kind: 'parse'; readonly raw: Uint8Array }
  | { readonly kind: 'describe'; readonly raw: Uint8Array; readonly why: string }
  | { readonly kind: 'identify'; readonly raws: readonly Uint8Array[] };

/** `ready` once, then what answers each request, in the order in which they came. */
export type ParserAnswer = 'ready' | ParsedMail | readonly string[];

const answer = (message: ParserAnswer, moved: ArrayBuffer[] = []): void => parentPort!.postMessage(message, moved);

parentPort!.on('message', async (request: ParserRequest) => {
  if (request.kind === 'identify') {
    answer(request.raws.map(mailIdentity));
    return;
  }
  const mail = request.kind === 'parse' ? await parseMail(request.raw) : unparsable(request.raw, request.why);
  answer(
    mail,
    mail.attachments.map(({ bytes }) => bytes.buffer as ArrayBuffer),
  );
});
answer('ready');
