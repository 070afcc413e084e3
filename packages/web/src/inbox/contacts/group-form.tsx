import { MultiSelect, Select, Skeleton, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Failure } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { DialogForm } from '../../data/dialog-form.tsx';
import { getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { Account } from '../mail-types.ts';
import {
  type ContactChoice,
  type ContactGroup,
  contactKeys,
  useContactChoices,
  useGroupMembers,
} from './contact-data.ts';

interface GroupFormProps {
  readonly accounts: readonly Account[];
  /** Null for a new one. */
  readonly group: ContactGroup | null;
  readonly done: () => void;
}

/** Creates or changes a group. */
export function GroupForm(props: GroupFormProps): ReactNode {
  const members = useGroupMembers(props.group?.id ?? null);
  if (props.group !== null && !members.data) return <Skeleton height={200} />;
  return <LoadedGroupForm {...props} before={members.data ?? []} />;
}

function LoadedGroupForm({
  accounts,
  group,
  done,
  before,
}: GroupFormProps & { readonly before: readonly ContactChoice[] }): ReactNode {
  const t = useInboxTexts().contacts;
  const { save: saveLabel } = useTexts().common;
  const [account, setAccount] = useState(group?.accountId ?? accounts[0]?.id ?? 0);
  const [name, setName] = useState(group?.name ?? '');
  const [members, setMembers] = useState<readonly ContactChoice[]>(before);
  const [text, setText] = useState('');
  const [debouncedText] = useDebouncedValue(text, 150);
  const found = useContactChoices(account, debouncedText);
  const save = useApiMutation({
    write: (client) => {
      const records = client.records('contactGroups');
      const body = { name, members: members.map(({ id }) => id) };
      return group ? records.update(group.id, body) : records.create({ ...body, accountId: account });
    },
    changes: contactKeys,
    done: () => {
      toast(t.groups.saved);
      done();
    },
  });
  const details = getErrorDetails(save.error);
  const isDuplicate = save.error instanceof Failure && save.error.code === 'UNIQUE_CONFLICT';
  const choices = new Map([...found, ...members].map((each) => [String(each.id), each]));
  return (
    <DialogForm write={save} submitLabel={saveLabel} cancel={done}>
      {group === null && accounts.length > 1 && (
        <Select
          label={t.fields.account}
          data={accounts.map(({ id, address }) => ({ value: String(id), label: address }))}
          value={String(account)}
          onChange={(id) => {
            if (id === null) return;
            setAccount(Number(id));
            setMembers([]);
          }}
          allowDeselect={false}
        />
      )}
      <TextInput
        label={t.groups.name}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={isDuplicate ? t.groups.duplicate : details['name']}
        maxLength={120}
        autoComplete="off"
        data-autofocus
        required
      />
      <MultiSelect
        label={t.groups.members}
        description={t.groups.membersHint}
        data={[...choices.values()].map((each) => ({ value: String(each.id), label: formatContact(each) }))}
        value={members.map(({ id }) => String(id))}
        onChange={(next) => setMembers(next.flatMap((id) => choices.get(id) ?? []))}
        searchValue={text}
        onSearchChange={setText}
        filter={({ options }) => options}
        error={details['members']}
        limit={100}
        searchable
        hidePickedOptions
        maxDropdownHeight={240}
      />
    </DialogForm>
  );
}

function formatContact({ name, address }: ContactChoice): string {
  return name === '' ? address : `${name} (${address})`;
}
