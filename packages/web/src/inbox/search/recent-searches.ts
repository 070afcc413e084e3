/** The last searches of a user, in this browser only. */
const maxRecent = 8;
const maxLength = 300;

const buildKey = (application: string, user: number): string => `tablinum.mail.searches.${application}.${user}`;

/** The newest first. */
export function readRecentSearches(application: string, user: number): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(buildKey(application, user)) ?? '[]');
    return Array.isArray(stored) ? stored.filter((each) => typeof each === 'string').slice(0, maxRecent) : [];
  } catch {
    return [];
  }
}

export function storeRecentSearch(application: string, user: number, text: string): void {
  if (text === '' || text.length > maxLength) return;
  const others = readRecentSearches(application, user).filter((each) => each !== text);
  writeRecentSearches(application, user, [text, ...others].slice(0, maxRecent));
}

export function clearRecentSearches(application: string, user: number): void {
  writeRecentSearches(application, user, []);
}

function writeRecentSearches(application: string, user: number, searches: readonly string[]): void {
  try {
    localStorage.setItem(buildKey(application, user), JSON.stringify(searches));
  } catch {
    // Without storage there are no recent searches.
  }
}
