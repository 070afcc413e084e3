import { createHash } from 'node:crypto';
import { type Attachment, MailParser, type MailParserOptions } from 'mailparser';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanFilename } from './attachment-name.ts';
import { shortened } from './clean-text.ts';
import type { ParsedAttachment } from './parsed-mail.ts';
import { sniffedType } from './sniffed-type.ts';

/** A part that is read, in the order of the message; `alternative`: it says the same as its neighbour of the other kind. */
export interface TextPart {
  readonly type: 'plain' | 'html';
  readonly alternative: boolean;
  readonly text: string;
  /** The part was longer than the limit. */
  readonly cut: boolean;
}

export interface MailBody {
  readonly texts: readonly TextPart[];
  readonly attachments: readonly ParsedAttachment[];
}

/** A message that passes a bound, or that the parser does not take; the message says which, to a reader. */
export class BodyFault extends Error {}

/** Takes the MIME parts of a message apart. @throws BodyFault */
export function readBody(raw: Uint8Array): Promise<MailBody> {
  const { promise, resolve, reject } = Promise.withResolvers<MailBody>();
  const parser = new BoundedParser();
  const attachments: ParsedAttachment[] = [];
  parser.on('data', (data) => {
    if (data.type !== 'attachment') return;
    const chunks: Uint8Array[] = [];
    const stream = data.content as NodeJS.ReadableStream;
    stream.on('data', (chunk: Uint8Array) => chunks.push(chunk));
    stream.on('error', (error) => parser.emit('error', error));
    stream.on('end', () => {
      attachments.push(toAttachment(data, chunks));
      data.release();
    });
  });
  parser.on('error', (error: unknown) => reject(toFault(error)));
  parser.on('end', () => resolve({ texts: parser.texts, attachments }));
  parser.end(raw);
  return promise;
}

function toFault(error: unknown): BodyFault {
  if (error instanceof BodyFault) return error;
  const { code, message } = error as { code?: string; message?: string };
  if (code !== 'EMAXLEN') return new BodyFault('Its parts cannot be told apart.');
  return new BodyFault(
    message?.includes('child nodes')
      ? `It has more than ${mailLimits.parts} parts.`
      : `The headers of a part are longer than ${mailLimits.headerBytes / 1024} KB.`,
  );
}

function toAttachment(data: Attachment, chunks: readonly Uint8Array[]): ParsedAttachment {
  const bytes = new Uint8Array(Buffer.concat(chunks));
  const contentId = data.contentId?.replace(/^\s*<|>\s*$/g, '').trim();
  return {
    filename: cleanFilename(data.filename),
    contentType: declaredType(data.contentType),
    sniffedType: sniffedType(bytes),
    size: bytes.length,
    disposition: data.contentDisposition === 'inline' || data.related ? 'inline' : 'attachment',
    contentId: contentId ? contentId.slice(0, 998) : null,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    bytes,
  };
}

function declaredType(written: string | undefined): string {
  const type = (written ?? '').trim().toLowerCase();
  return /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/.test(type) ? type : 'application/octet-stream';
}

/** Members of mailparser that are read and overridden here; its version is exact for their sake, and the tests would notice. */
interface TreeNode {
  readonly contentType?: string;
  readonly textContent?: string;
  readonly children?: readonly TreeNode[];
}

interface SplitNode {
  readonly type: string;
  readonly parentNode?: SplitNode;
}

interface MailParserInside {
  readonly tree: TreeNode | false;
  processChunk(data: SplitNode, done: (error?: Error) => void): void;
}

const parserBase = MailParser as unknown as new (
  options: MailParserOptions & { maxHeadSize: number; maxChildNodes: number },
) => MailParser & MailParserInside;

/** mailparser with bounds on the shape of a message, giving its texts part by part instead of joined. */
class BoundedParser extends parserBase {
  texts: TextPart[] = [];

  constructor() {
    super({ maxHeadSize: mailLimits.headerBytes, maxChildNodes: mailLimits.parts, checksumAlgo: 'sha256' });
  }

  override processChunk(data: SplitNode, done: (error?: Error) => void): void {
    if (data.type === 'node' && depthOf(data) > mailLimits.depth)
      done(new BodyFault(`Its parts lie more than ${mailLimits.depth} deep.`));
    else super.processChunk(data, done);
  }

  /** Called once, at the end. */
  getTextContent(): { type: 'text' } {
    if (this.tree) this.texts = [...textParts(this.tree, false)];
    return { type: 'text' };
  }
}

function depthOf(node: SplitNode): number {
  let depth = 0;
  for (let each = node.parentNode; each && depth <= mailLimits.depth; each = each.parentNode) depth += 1;
  return depth;
}

function* textParts(node: TreeNode, alternative: boolean): Generator<TextPart> {
  if (node.textContent) {
    const type = node.contentType === 'text/html' ? 'html' : 'plain';
    const most = type === 'html' ? mailLimits.htmlLength : mailLimits.textLength;
    yield { type, alternative, text: shortened(node.textContent, most), cut: node.textContent.length > most };
  }
  const inner = alternative || node.contentType === 'multipart/alternative';
  for (const child of node.children ?? []) yield* textParts(child, inner);
}
