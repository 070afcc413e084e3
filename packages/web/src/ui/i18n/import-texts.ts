/**
 * The texts of imports and of pasting into the grid. They are a separate chunk, so that the sign-in page loads without
 * them. A further language needs an entry here.
 */
import { type ImportTexts, imports } from './en/imports.ts';
import { useTexts } from './texts.tsx';

const languages: Readonly<Record<string, ImportTexts>> = { en: imports };

export function useImportTexts(): ImportTexts {
  return languages[useTexts().language] ?? imports;
}
