/**
 * The texts of the access pages. They are a separate chunk, so that the sign-in page loads without them. A further
 * language needs an entry here.
 */
import { access } from './en/access.ts';
import { useTexts } from './texts.tsx';

export type AccessTexts = typeof access;

const languages: Readonly<Record<string, AccessTexts>> = { en: access };

export function useAccessTexts(): AccessTexts {
  return languages[useTexts().language] ?? access;
}
