import type { SystemAction } from './request-context.ts';

/** The `systemSettings` actions, only for administrators of `main`. */
export const settingsActions: Readonly<Record<string, SystemAction>> = {
  'systemSettings:get': { reads: true, run: async (request) => (await loadOperations()).getSettings(request) },
  'systemSettings:update': { reads: false, run: async (request) => (await loadOperations()).updateSettings(request) },
};

function loadOperations(): Promise<typeof import('./system-settings.ts')> {
  return import('./system-settings.ts');
}
