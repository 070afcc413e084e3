import { Popover, TextInput } from '@mantine/core';
import { type FormEvent, type KeyboardEvent, type ReactNode, type RefObject, useEffect, useId, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import type { InboxView } from '../inbox-search.ts';
import type { Account } from '../mail-types.ts';
import { useOwnId } from '../team/team-data.ts';
import { readRecentSearches, storeRecentSearch } from './recent-searches.ts';
import { useSavedSearches } from './saved-searches.ts';
import { type SearchChoice, SearchChoices } from './search-choices.tsx';
import classes from './search-field.module.css';
import { useSearchSuggestions } from './use-search-suggestions.ts';

interface SearchFieldProps {
  readonly value: string;
  readonly accounts: readonly Account[];
  readonly search: (text: string) => void;
  readonly setView: (view: InboxView) => void;
  readonly fieldRef: RefObject<HTMLInputElement | null>;
}

/**
 * The search input of the inbox. While it has the focus, it offers recent and saved searches and the operators; while the user types,
 * what completes the last word. Arrow keys choose, Enter searches.
 */
export function SearchField({ value, accounts, search, setView, fieldRef }: SearchFieldProps): ReactNode {
  const t = useInboxTexts().search;
  const [typed, setTyped] = useState(value);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState<number | null>(null);
  const listId = useId();
  useEffect(() => setTyped(value), [value]);
  const { groups, remember } = useChoices(accounts, typed, isOpen);
  const choices = groups.flatMap((group) => group.choices);
  const submit = (text: string): void => {
    search(text.trim());
    remember(text.trim());
    setOpen(false);
    fieldRef.current?.blur();
  };
  const change = (text: string): void => {
    setTyped(text);
    setActive(null);
    setOpen(true);
  };
  const choose = ({ text, view, isComplete }: SearchChoice): void => {
    if (view) {
      setOpen(false);
      fieldRef.current?.blur();
      setView(view);
    } else if (isComplete) submit(text);
    else {
      change(text);
      fieldRef.current?.focus();
    }
  };
  const handleKey = (event: KeyboardEvent): void => {
    const { key } = event;
    if (key === 'Escape') fieldRef.current?.blur();
    if ((key !== 'ArrowDown' && key !== 'ArrowUp') || choices.length === 0) return;
    event.preventDefault();
    setOpen(true);
    const step = key === 'ArrowDown' ? 1 : -1;
    setActive(
      active === null ? (step > 0 ? 0 : choices.length - 1) : (active + step + choices.length) % choices.length,
    );
  };
  const handleSubmit = (event: FormEvent): void => {
    event.preventDefault();
    const chosen = active === null ? undefined : choices[active];
    if (chosen) choose(chosen);
    else submit(typed);
  };
  return (
    <form onSubmit={handleSubmit} className={classes.form}>
      <Popover
        opened={isOpen && choices.length > 0}
        width="target"
        position="bottom-start"
        withRoles={false}
        trapFocus={false}
        returnFocus={false}
        shadow="md"
      >
        <Popover.Target>
          <TextInput
            ref={fieldRef}
            type="search"
            role="combobox"
            aria-expanded={isOpen && choices.length > 0}
            aria-controls={listId}
            aria-autocomplete="list"
            aria-activedescendant={active === null ? undefined : `${listId}-${active}`}
            autoComplete="off"
            aria-label={t.label}
            placeholder={t.label}
            value={typed}
            dir="auto"
            onChange={(event) => change(event.currentTarget.value)}
            onFocus={() => setOpen(true)}
            onBlur={() => setOpen(false)}
            onKeyDown={handleKey}
            leftSection={<Icon name="search" />}
            rightSection={typed !== '' && <IconButton icon="x" size="sm" label={t.clear} onClick={() => submit('')} />}
          />
        </Popover.Target>
        <Popover.Dropdown p="xs" className={classes.dropdown!}>
          <SearchChoices id={listId} groups={groups} active={active} choose={choose} />
        </Popover.Dropdown>
      </Popover>
    </form>
  );
}

const maxSaved = 5;

/** What the field offers: for an empty one the recent and saved searches and the operators, else what completes the last word. */
function useChoices(accounts: readonly Account[], typed: string, isOpen: boolean) {
  const t = useInboxTexts().search;
  const application = useApplication();
  const user = useOwnId();
  const saved = useSavedSearches();
  const suggestions = useSearchSuggestions(accounts, isOpen ? typed : '');
  const recent = isOpen && user !== null ? readRecentSearches(application, user) : [];
  const remember = (text: string): void => {
    if (user !== null) storeRecentSearch(application, user, text);
  };
  const toGroup = (title: string, choices: readonly SearchChoice[]) => ({ title, choices });
  const isEmpty = typed.trim() === '';
  const operators = t.hints.map(([operator, hint]) => ({
    key: `operator ${operator}`,
    label: operator,
    hint,
    text: `${typed}${operator}`,
  }));
  const groups = isEmpty
    ? [
        toGroup(
          t.recent,
          recent.map((text) => ({ key: `recent ${text}`, label: text, text, isComplete: true })),
        ),
        toGroup(
          t.saved,
          saved.slice(0, maxSaved).map(({ id, name, view }) => ({ key: `saved ${id}`, label: name, text: '', view })),
        ),
        toGroup(t.operators, operators),
      ]
    : [
        toGroup(
          t.suggestions,
          suggestions.map(({ label, text }) => ({ key: `suggestion ${label}`, label, text })),
        ),
        toGroup(t.operators, typed.endsWith(' ') ? operators : []),
      ];
  return { groups: groups.filter(({ choices }) => choices.length > 0), remember };
}
