import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanName } from './clean-text.ts';

/** Names of devices on Windows, which are reserved with any extension. */
const devices = /^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?=\.|$)/i;
const encoder = new TextEncoder();

/**
 * Converts a file name so that it is valid on all file systems: the last part of a path, without control characters,
 * direction marks and reserved characters, with at most 255 bytes of UTF-8 including its extension. Null if nothing is left.
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
