/**
 * The texts of the interface. Components contain no texts of their own. A further language is a file like en.ts of the
 * type {@link Texts} with an entry in {@link languages}; the compiler reports missing texts.
 */
import { createContext, type ReactNode, use } from 'react';
import { en, type Texts } from './en.ts';

export type { Texts } from './en.ts';

export const languages: Readonly<Record<string, Texts>> = { en };

/** The first preferred language of the browser that has texts. */
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

/** The texts of the current language, such as `t.common.save`. A text with a number or a name is a function. */
export function useTexts(): Texts {
  return use(TextsContext);
}
