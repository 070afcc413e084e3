/** The application that `/` leads to: the last one that was looked at. A name is no secret, so it may outlive the tab. */
const place = 'tablinum.application';

export function lastApplication(): string {
  try {
    return localStorage.getItem(place) ?? 'main';
  } catch {
    return 'main';
  }
}

export function rememberApplication(name: string): void {
  try {
    if (localStorage.getItem(place) !== name) localStorage.setItem(place, name);
  } catch {
    // Then `/` leads to main.
  }
}
