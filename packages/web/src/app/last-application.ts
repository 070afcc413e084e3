/** The application that `/` leads to: the last one that was looked at. A name is no secret, so it may outlive the tab. */
const storageKey = 'tablinum.application';

export function getLastApplication(): string {
  try {
    return localStorage.getItem(storageKey) ?? 'main';
  } catch {
    return 'main';
  }
}

export function rememberApplication(name: string): void {
  try {
    if (localStorage.getItem(storageKey) !== name) localStorage.setItem(storageKey, name);
  } catch {
    // Then `/` leads to main.
  }
}
