import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanName } from './clean-text.ts';

/** Names that are devices on Windows, with any ending. */
const devices = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?=\.|$)/i;
const encoder = new TextEncoder();

/**
 * A name under which a file may be kept anywhere: the last part of a path, without control characters, marks of direction and what file
 * systems forbid, at most 255 bytes of UTF-8 with its ending kept. Null where nothing is left.
 */
export function cleanFilename(written: string | null | undefined): string | null {
  if (!written) return null;
  const lastPart = cleanName(written).normalize('NFC').split(/[/\\]/).pop()!;
  const name = lastPart
    .replace(/[<>:"|?*]/g, '_')
    .replace(/^[\s.]+|[\s.]+$/g, '')
    .replace(devices, '_$1');
  return name === '' ? null : truncateFilename(name);
}

function truncateFilename(name: string): string {
  if (encoder.encode(name).length <= mailLimits.filenameLength) return name;
  const ending = /\.[\p{L}\p{N}]{1,16}$/u.exec(name)?.[0] ?? '';
  const maxBytes = mailLimits.filenameLength - encoder.encode(ending).length;
  let truncated = '';
  let used = 0;
  for (const character of name.slice(0, name.length - ending.length)) {
    used += encoder.encode(character).length;
    if (used > maxBytes) break;
    truncated += character;
  }
  return truncated.trimEnd() + ending;
}
