import { parentPort } from 'node:worker_threads';
import { computeMailIdentity } from './mail-identity.ts';
import { parseMail } from './parse-mail.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { toUnparsableMail } from './unparsable-mail.ts';

/** Parse a raw message; describe one that cannot be parsed; give the identities of several. */
export type ParserRequest =
  | { readonly kind: 'parse'; readonly raw: Uint8Array }
  | { readonly kind: 'describe'; readonly raw: Uint8Array; readonly why: string }
  | { readonly kind: 'identify'; readonly raws: readonly Uint8Array[] };

/** `ready` once, then what answers each request, in the order in which they came. */
export type ParserResponse = 'ready' | ParsedMail | readonly string[];

const respond = (message: ParserResponse, transfer: ArrayBuffer[] = []): void =>
  parentPort!.postMessage(message, transfer);

parentPort!.on('message', async (request: ParserRequest) => {
  if (request.kind === 'identify') {
    respond(request.raws.map(computeMailIdentity));
    return;
  }
  const mail = request.kind === 'parse' ? await parseMail(request.raw) : toUnparsableMail(request.raw, request.why);
  respond(
    mail,
    mail.attachments.map(({ bytes }) => bytes.buffer as ArrayBuffer),
  );
});
respond('ready');
