import { useMemo } from 'react';
import { useAddressSuggestions } from '../compose/address-suggestions.ts';
import { getFolderKey } from '../folders/folder-key.ts';
import type { Account } from '../mail-types.ts';
import { useLabels } from '../team/label-data.ts';
import { formatSearchWord, listRecentDays, readTypedWord, replaceTypedWord, suggestWords } from './search-words.ts';

/** A search text that completes the typed one. */
export interface SearchSuggestion {
  /** The word that it adds, or the name of a person. */
  readonly label: string;
  /** The whole search text. */
  readonly text: string;
}

const maxPeople = 5;
const peopleOperators = new Set(['from', 'to', 'cc', 'bcc']);

/** Words, labels, folders, days and people that complete what is typed. */
export function useSearchSuggestions(accounts: readonly Account[], typed: string): readonly SearchSuggestion[] {
  const word = useMemo(() => readTypedWord(typed), [typed]);
  const { operator, value } = word;
  const wantsPeople = operator === null ? value.length > 1 : peopleOperators.has(operator) && value !== '';
  const people = useAddressSuggestions(wantsPeople ? value : '', null).map(({ label }) => label);
  const labels = useLabels();
  const words = suggestWords(word, {
    labels: labels.map(({ label }) => label),
    folders: [...new Set(accounts.flatMap(({ mailboxes }) => mailboxes.map(getFolderKey)))],
    days: listRecentDays(new Date()),
  });
  return [
    ...words.map((each) => ({ label: each, text: replaceTypedWord(word, each) })),
    ...people.slice(0, maxPeople).map((person) => ({
      label: `${operator ?? 'from'}: ${person}`,
      text: replaceTypedWord(word, formatSearchWord(operator ?? 'from', readAddress(person))),
    })),
  ];
}

/** The address of `Ada <ada@example.com>`. */
function readAddress(person: string): string {
  return /<([^<>]+)>$/.exec(person)?.[1] ?? person;
}
