import { mailLimits } from '../../protocol/mail-limits.ts';
import { cleanLine } from './clean-text.ts';
import { type Header, rawValues } from './header-block.ts';
import { parseAddresses } from './mail-addresses.ts';

const maxAddresses = 10;

/** The heading of an embedded message as plain text: its sender, date and subject. */
export function buildEmbeddedHeading(headers: readonly Header[]): string {
  const value = (name: string): string => headers.find((header) => header.name.toLowerCase() === name)?.value ?? '';
  const senders = parseAddresses(rawValues(headers, 'from').slice(0, 1)).slice(0, maxAddresses);
  const lines = [
    ['From', senders.map(formatAddress).join(', ')],
    ['Date', value('date').slice(0, 100)],
    ['Subject', value('subject').slice(0, mailLimits.subjectLength)],
  ];
  const presentLines = lines.filter(([, text]) => text !== '').map(([name, text]) => `${name}: ${cleanLine(text!)}`);
  return ['', '-------- Embedded message --------', ...presentLines, ''].join('\n');
}

function formatAddress({ name, address }: { readonly name: string; readonly address: string }): string {
  if (name === '' || address === '') return name + address;
  return `${name} <${address}>`;
}
