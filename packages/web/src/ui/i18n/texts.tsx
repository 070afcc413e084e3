/**
 * The one layer of texts: no page holds words of its own. Another language is a file like en.ts of the type
 * {@link Texts}, with a line in {@link languages}; the compiler names what it lacks.
 */
import { createContext, type ReactNode, use } from 'react';
import { en, type Texts } from './en.ts';

export type { Texts } from './en.ts';

export const languages: Readonly<Record<string, Texts>> = { en };

/** The first language of the browser that there are texts for. */
export function preferredLanguage(): string {
  return navigator.languages.map((tag) => tag.replace(/-.*$/, '')).find((tag) => languages[tag]) ?? 'en';
}

export function textsIn(language: string): Texts {
  return languages[language] ?? en;
}

const TextsContext = createContext<Texts>(en);

export function TextsProvider({ language, children }: { language: string; children: ReactNode }): ReactNode {
  return <TextsContext value={textsIn(language)}>{children}</TextsContext>;
}

/** The texts: `t.common.save`, or a function where a number or name stands in it. */
export function useTexts(): Texts {
  return use(TextsContext);
}
