import { createHash } from 'node:crypto';
import { type Attachment, MailParser, type MailParserOptions } from 'mailparser';
import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanFilename } from './attachment-name.ts';
import type { ParsedAttachment } from './parsed-mail.ts';
import { sniffedType } from './sniffed-type.ts';

/** A part that is read, in the order of the message; `alternative`: it says the same as its neighbour of the other kind. */
export interface TextPart {
  readonly type: 'plain' | 'html';
  readonly alternative: boolean;
  readonly text: string;
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
  parser.on('error', (error: unknown) => reject(error instanceof BodyFault ? error : new BodyFault(String(error))));
  parser.on('end', () => resolve({ texts: parser.texts, attachments }));
  parser.end(raw);
  return promise;
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
  options: MailParserOptions & { maxHeadSize: number },
) => MailParser & MailParserInside;

/** mailparser with bounds on the shape of a message, giving its texts part by part instead of joined. */
class BoundedParser extends parserBase {
  #parts = 0;
  texts: TextPart[] = [];

  constructor() {
    super({ maxHeadSize: mailLimits.headerBytes, checksumAlgo: 'sha256' });
  }

  override processChunk(data: SplitNode, done: (error?: Error) => void): void {
    const fault = data.type === 'node' ? this.#boundPassedBy(data) : null;
    if (fault) done(new BodyFault(fault));
    else super.processChunk(data, done);
  }

  #boundPassedBy(node: SplitNode): string | null {
    this.#parts += 1;
    if (this.#parts > mailLimits.parts) return `It has more than ${mailLimits.parts} parts.`;
    if (depthOf(node) > mailLimits.depth) return `Its parts lie more than ${mailLimits.depth} deep.`;
    return null;
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
    yield { type, alternative, text: node.textContent };
  }
  const inner = alternative || node.contentType === 'multipart/alternative';
  for (const child of node.children ?? []) yield* textParts(child, inner);
}
