/** Reads the XML of a workbook while it is unpacked. Document types, and so entities, are refused; nothing is ever fetched. */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { invalidFile, tooLarge } from './source-error.ts';
import { sourceLimits } from './table-source.ts';

/** Names are without their prefixes: `row` also for `x:row`. */
export interface XmlHandler {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** Code units that are parsed between two pauses. */
const pauseLength = 16 * 1024;
const maxDepth = 256;

const damaged = 'The file is damaged: the XML of the workbook is incomplete. Get or save it again.';

/** Yields after each piece, so that the caller can pass on what its handler has collected. */
export async function* parseXml(bytes: AsyncIterable<Uint8Array>, handler: XmlHandler): AsyncGenerator<void> {
  const { Parser } = await import('htmlparser2');
  let depth = 0;
  let hasRoot = false;
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth += 1;
        hasRoot = true;
        if (depth > maxDepth) throw tooLarge('The XML of the workbook is nested too deeply.');
        handler.open?.(withoutPrefix(name), attributes);
      },
      ontext: (text) => handler.text?.(text),
      onclosetag(name) {
        depth -= 1;
        handler.close?.(withoutPrefix(name));
      },
      onprocessinginstruction(name) {
        if (/^!doctype/i.test(name))
          throw invalidFile(
            'The workbook contains a document type definition. Open it in a spreadsheet program and save it again.',
          );
      },
    },
    { xmlMode: true },
  );
  let length = 0;
  let unpaused = 0;
  let sinceTag = 0;
  for await (const text of decodeXml(bytes)) {
    const tag = text.lastIndexOf('<');
    sinceTag = tag < 0 ? sinceTag + text.length : text.length - tag;
    length += text.length;
    // The parser collects an attribute or comment until it ends.
    if (sinceTag > 2 * sourceLimits.cellLength || length - parser.endIndex > 4 * sourceLimits.cellLength)
      throw tooLarge(`The XML of the workbook contains a cell of more than ${sourceLimits.cellLength} characters.`);
    parser.write(text);
    unpaused += text.length;
    yield;
    if (unpaused < pauseLength) continue;
    unpaused = 0;
    await yieldToOthers();
  }
  if (depth !== 0 || !hasRoot) throw invalidFile(damaged);
  parser.end();
}

function withoutPrefix(name: string): string {
  const colon = name.indexOf(':');
  return colon < 0 ? name : name.slice(colon + 1);
}

/** XML is UTF-8, or UTF-16 with a byte order mark. Line breaks are read as line feeds. */
async function* decodeXml(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: TextDecoder | null = null;
  let endedWithReturn = false;
  for await (const piece of bytes) {
    decoder ??= new TextDecoder(findXmlEncoding(piece));
    for (let from = 0; from < piece.length; from += pauseLength) {
      const text = decoder.decode(piece.subarray(from, from + pauseLength), { stream: true });
      const rest = endedWithReturn && text.startsWith('\n') ? text.slice(1) : text;
      endedWithReturn = text.endsWith('\r');
      yield rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest;
    }
  }
}

function findXmlEncoding([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}
