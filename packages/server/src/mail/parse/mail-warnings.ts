import type { Envelope } from './envelope.ts';

export function findWarnings(_envelope: Envelope, _mismatchedLink: boolean): string[] {
  return [];
}
