/**
 * Texts of the pages of access, which come with them: the sign-in does not wait for them. Another language has a line
 * here too.
 */
import { access } from './en/access.ts';
import { useTexts } from './texts.tsx';

export type AccessTexts = typeof access;

const languages: Readonly<Record<string, AccessTexts>> = { en: access };

export function useAccessTexts(): AccessTexts {
  return languages[useTexts().language] ?? access;
}
