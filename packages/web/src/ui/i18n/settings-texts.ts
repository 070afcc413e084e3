/** The texts of the settings page. They are a chunk of their own. A further language needs an entry here. */
import { settings } from './en/settings.ts';
import { useTexts } from './texts.tsx';

export type SettingsTexts = typeof settings;

const languages: Readonly<Record<string, SettingsTexts>> = { en: settings };

export function useSettingsTexts(): SettingsTexts {
  return languages[useTexts().language] ?? settings;
}
