/** Lists of e-mails as they are stored: JSON columns, null for an empty list. */
import { parseJsonColumn } from '../json-column.ts';
import type { MailAddressValue } from './mail-writer.ts';

/** A column of addresses: `from`, `to`, `cc`, `bcc` or `replyTo`. */
export function parseAddressList(column: unknown): readonly MailAddressValue[] {
  return (parseJsonColumn(column) ?? []) as readonly MailAddressValue[];
}

/** A column of texts, such as Message-IDs. */
export function parseTextList(column: unknown): readonly string[] {
  return (parseJsonColumn(column) ?? []) as readonly string[];
}
