/** The texts of the editor of messages, apart from those of the inbox. A further language needs an entry here. */
import { compose } from './en/compose.ts';
import { useTexts } from './texts.tsx';

export type ComposeTexts = typeof compose;

const languages: Readonly<Record<string, ComposeTexts>> = { en: compose };

export function useComposeTexts(): ComposeTexts {
  return languages[useTexts().language] ?? compose;
}
