/**
 * The texts of e-mail. They are a separate chunk, so that the sign-in page loads without them. A further language needs
 * an entry here.
 */
import { inbox } from './en/inbox.ts';
import { useTexts } from './texts.tsx';

export type InboxTexts = typeof inbox;

const languages: Readonly<Record<string, InboxTexts>> = { en: inbox };

export function useInboxTexts(): InboxTexts {
  return languages[useTexts().language] ?? inbox;
}
