/** The application that `/` redirects to: the last one that was opened. Its name is stored in the browser. */
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
    // Without storage `/` redirects to main.
  }
}
