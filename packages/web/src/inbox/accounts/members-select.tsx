import { MultiSelect, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { getMemberName, type Member, useFoundUsers } from './account-data.ts';

interface MembersSelectProps {
  /** The current members; null if the role may not list users. */
  readonly present: readonly Member[] | null;
  readonly value: readonly number[];
  readonly change: (members: readonly number[]) => void;
  readonly error: string | undefined;
}

/** Selects the members of an account. Users are found by name. */
export function MembersSelect({ present, value, change, error }: MembersSelectProps): ReactNode {
  const t = useInboxTexts().accounts;
  const [typed, setTyped] = useState('');
  const [debouncedText] = useDebouncedValue(typed, 150);
  const found = useFoundUsers(debouncedText);
  const [knownNames, setKnownNames] = useState<ReadonlyMap<number, string>>(new Map());
  if (present === null || (found.error && !found.data))
    return <TextInput label={t.members} description={t.membersHidden} value="" disabled readOnly />;
  const names = new Map([
    ...knownNames,
    ...[...present, ...(found.data ?? [])].map((each) => [each.id, getMemberName(each)] as const),
  ]);
  const data = [...names].map(([id, label]) => ({ value: String(id), label }));
  const offered = new Set((found.data ?? []).map(({ id }) => String(id)));
  return (
    <MultiSelect
      label={t.members}
      description={t.membersHint}
      data={data}
      value={value.map(String)}
      onChange={(next) => {
        setKnownNames(names);
        change(next.map(Number));
      }}
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
      filter={({ options }) => options.filter((each) => 'value' in each && offered.has(each.value))}
      hidePickedOptions
      error={error}
    />
  );
}
