import { TagsInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type KeyboardEvent, type ReactNode, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useAddressSuggestions } from './address-suggestions.ts';
import { isAddress, splitAddresses } from './addresses.ts';
import classes from './composer.module.css';

interface RecipientsInputProps {
  readonly label: string;
  readonly value: readonly string[];
  readonly change: (value: readonly string[]) => void;
  readonly autoFocus?: boolean;
}

/**
 * An input of addresses with suggestions from contacts, their groups and existing e-mails. Typed text becomes an address when the input loses the
 * focus.
 */
export function RecipientsInput({ label, value, change, autoFocus }: RecipientsInputProps): ReactNode {
  const { compose: t, contacts } = useInboxTexts();
  const [typed, setTyped] = useState('');
  const [debouncedText] = useDebouncedValue(typed, 150);
  const suggestions = useAddressSuggestions(
    debouncedText,
    (name, people) => `${name} (${contacts.groups.people(people)})`,
  )
    .map(({ label, addresses }) => ({ label, addresses: addresses.filter((each) => !value.includes(each)) }))
    .filter(({ addresses }) => addresses.length > 0);
  /** The addresses of a chosen suggestion or a typed text. */
  const toAddresses = (text: string): readonly string[] =>
    suggestions.find(({ label }) => label === text)?.addresses ?? splitAddresses(text);
  /** A comma or semicolon ends an address, except in a quoted name. Escape only closes the suggestions. */
  const handleKeyDown = (event: KeyboardEvent): void => {
    const hasSuggestions = suggestions.length > 0 && event.currentTarget.getAttribute('aria-expanded') === 'true';
    if (event.key === 'Escape' && hasSuggestions) event.stopPropagation();
    const isQuoted = (typed.match(/"/g)?.length ?? 0) % 2 === 1;
    if ((event.key !== ',' && event.key !== ';') || isQuoted || typed.trim() === '') return;
    event.preventDefault();
    change([...value, ...splitAddresses(typed)]);
    setTyped('');
  };
  const invalidAddress = value.find((each) => !isAddress(each));
  return (
    <TagsInput
      className={classes.field}
      classNames={{ inputField: classes.typed! }}
      label={label}
      error={invalidAddress !== undefined && t.noAddress(invalidAddress)}
      value={[...value]}
      onChange={(next) => change([...new Set(next.flatMap(toAddresses))])}
      splitChars={[]}
      onKeyDown={handleKeyDown}
      searchValue={typed}
      onSearchChange={setTyped}
      data={typed === '' ? [] : suggestions.map(({ label }) => label)}
      filter={({ options }) => options}
      maxDropdownHeight={240}
      acceptValueOnBlur
      autoFocus={autoFocus}
      autoComplete="off"
      clearable={false}
      aria-description={t.recipientsHint}
      comboboxProps={{ position: 'bottom-start' }}
    />
  );
}
