import { Popover, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, type RefObject, useEffect, useState } from 'react';
import { useInboxTexts } from '../ui/i18n/inbox-texts.ts';
import { Icon } from '../ui/icon.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import classes from './search-field.module.css';

interface SearchFieldProps {
  readonly value: string;
  readonly search: (text: string) => void;
  readonly fieldRef: RefObject<HTMLInputElement | null>;
}

/** The search input of the inbox. It shows the search operators while it has the focus. */
export function SearchField({ value, search, fieldRef }: SearchFieldProps): ReactNode {
  const t = useInboxTexts().search;
  const [typed, setTyped] = useState(value);
  const [showsHints, setShowsHints] = useState(false);
  useEffect(() => setTyped(value), [value]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    search(typed.trim());
    setShowsHints(false);
    fieldRef.current?.blur();
  };
  const add = (operator: string): void => {
    setTyped((before) => (before === '' || before.endsWith(' ') ? before : `${before} `) + operator);
    fieldRef.current?.focus();
  };
  const clear = (): void => {
    setTyped('');
    search('');
  };
  return (
    <form onSubmit={submit} className={classes.form}>
      <Popover
        opened={showsHints}
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
            aria-label={t.label}
            placeholder={t.label}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            onFocus={() => setShowsHints(true)}
            onBlur={() => setShowsHints(false)}
            onKeyDown={(event) => {
              if (event.key === 'Escape') fieldRef.current?.blur();
            }}
            leftSection={<Icon name="search" />}
            rightSection={typed !== '' && <IconButton icon="x" size="sm" label={t.clear} onClick={clear} />}
          />
        </Popover.Target>
        <Popover.Dropdown p="xs" className={classes.dropdown!} role="group" aria-label={t.operators}>
          <div className={classes.hints}>
            {t.hints.map(([operator, meaning]) => (
              <button
                key={operator}
                type="button"
                tabIndex={-1}
                className={classes.hint}
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => add(operator)}
              >
                <code>{operator}</code>
                <span>{meaning}</span>
              </button>
            ))}
          </div>
        </Popover.Dropdown>
      </Popover>
    </form>
  );
}
