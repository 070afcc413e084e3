/**
 * Texts of e-mail, which come with its pages: the sign-in does not wait for them. Another language has a line here too.
 */
import { inbox } from './en/inbox.ts';
import { useTexts } from './texts.tsx';

export type InboxTexts = typeof inbox;

const languages: Readonly<Record<string, InboxTexts>> = { en: inbox };

export function useInboxTexts(): InboxTexts {
  return languages[useTexts().language] ?? inbox;
}
