import type { Mailbox } from '../mail-types.ts';

/** The key of a folder: its role, else its path. */
export function getFolderKey({ role, path }: Pick<Mailbox, 'role' | 'path'>): string {
  return role ?? path;
}
