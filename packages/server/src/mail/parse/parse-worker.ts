import { parentPort } from 'node:worker_threads';
import { checkSignatures } from '../authenticity/check-signatures.ts';
import type { SignatureReport, SignatureRequest } from '../authenticity/signature-report.ts';
import { computeMailIdentity } from './mail-identity.ts';
import { parseMail } from './parse-mail.ts';
import type { ParsedMail } from './parsed-mail.ts';
import { toUnparsableMail } from './unparsable-mail.ts';

/**
 * Parse a raw message; describe one that cannot be parsed; give the identities of several; check the signatures of one.
 */
export type ParserRequest =
  | { readonly kind: 'parse'; readonly raw: Uint8Array }
  | { readonly kind: 'describe'; readonly raw: Uint8Array; readonly why: string }
  | { readonly kind: 'identify'; readonly raws: readonly Uint8Array[] }
  | ({ readonly kind: 'check' } & SignatureRequest);

/** `ready` once, then a reply to each request, in their order. */
export type ParserResponse =
  | 'ready'
  | ParsedMail
  | readonly string[]
  | { readonly report: SignatureReport }
  | { readonly problem: string };

const respond = (message: ParserResponse, transfer: ArrayBuffer[] = []): void =>
  parentPort!.postMessage(message, transfer);

parentPort!.on('message', async (request: ParserRequest) => {
  if (request.kind === 'identify') {
    respond(request.raws.map(computeMailIdentity));
    return;
  }
  if (request.kind === 'check') {
    // An exception would end the thread, and start another one for the next message.
    respond(
      await checkSignatures(request).then(
        (report) => ({ report }),
        (error: unknown) => ({ problem: String(error).slice(0, 200) }),
      ),
    );
    return;
  }
  const mail = request.kind === 'parse' ? await parseMail(request.raw) : toUnparsableMail(request.raw, request.why);
  respond(
    mail,
    mail.attachments.map(({ bytes }) => bytes.buffer as ArrayBuffer),
  );
});
respond('ready');
