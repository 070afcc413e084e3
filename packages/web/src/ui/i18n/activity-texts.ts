/** The texts of the page about the activity of the server, in a chunk of their own. A further language needs an entry here. */
import { activity } from './en/activity.ts';
import { useTexts } from './texts.tsx';

type ActivityTexts = typeof activity;

const languages: Readonly<Record<string, ActivityTexts>> = { en: activity };

export function useActivityTexts(): ActivityTexts {
  return languages[useTexts().language] ?? activity;
}
