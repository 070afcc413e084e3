import { TagsInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { isAddress, partedAddresses } from './addresses.ts';
import classes from './composer.module.css';
import { useKnownPeople } from './known-people.ts';

interface RecipientsInputProps {
  readonly label: string;
  readonly value: readonly string[];
  readonly change: (value: readonly string[]) => void;
  /** Whose mail tells who is known. */
  readonly accountId: number | null;
  readonly autoFocus?: boolean;
}

/** Addresses, with those of mail that was seen offered while somebody types. What is typed stands without a further key. */
export function RecipientsInput({ label, value, change, accountId, autoFocus }: RecipientsInputProps): ReactNode {
  const t = useTexts().inbox.compose;
  const [typed, setTyped] = useState('');
  const [asked] = useDebouncedValue(typed, 150);
  const known = useKnownPeople(accountId, asked).filter((each) => !value.includes(each));
  const wrong = value.find((each) => !isAddress(each));
  return (
    <TagsInput
      className={classes.field}
      classNames={{ inputField: classes.typed! }}
      label={label}
      error={wrong !== undefined && t.noAddress(wrong)}
      value={[...value]}
      onChange={(next) => change(next.flatMap(partedAddresses))}
      searchValue={typed}
      onSearchChange={setTyped}
      data={typed === '' ? [] : known}
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
