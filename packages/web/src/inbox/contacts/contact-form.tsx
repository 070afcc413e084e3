import { MultiSelect, Select, Textarea, TextInput } from '@mantine/core';
import { type Client, Failure } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { DialogForm } from '../../data/dialog-form.tsx';
import { useMay } from '../../data/schema.ts';
import { emptyToNull, getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { Account } from '../mail-types.ts';
import { type Contact, type ContactGroup, contactKeys } from './contact-data.ts';

interface ContactFormProps {
  readonly accounts: readonly Account[];
  readonly groups: readonly ContactGroup[];
  /** Null for a new one. */
  readonly contact: Contact | null;
  readonly done: () => void;
}

/** Creates or changes a contact and its groups. */
export function ContactForm({ accounts, groups, contact, done }: ContactFormProps): ReactNode {
  const t = useInboxTexts().contacts;
  const { save: saveLabel } = useTexts().common;
  const may = useMay();
  const [account, setAccount] = useState(contact?.accountId ?? accounts[0]?.id);
  const [values, setValues] = useState({
    name: contact?.name ?? '',
    address: contact?.address ?? '',
    company: contact?.company ?? '',
    phone: contact?.phone ?? '',
    notes: contact?.notes ?? '',
  });
  const groupsBefore = contact?.groups.map(({ id }) => id) ?? [];
  const [chosen, setChosen] = useState<readonly number[]>(groupsBefore);
  const othersBefore = contact?.otherAddresses ?? [];
  const [others, setOthers] = useState<readonly string[]>(othersBefore);
  const save = useApiMutation({
    write: async (client) => {
      const { name, address, ...texts } = values;
      const body = {
        name: name.trim(),
        // An unchanged address is left out, so that the record keeps its own spelling rules.
        ...(address.trim() !== contact?.address && { address: address.trim() }),
        ...(others.length < othersBefore.length && { otherAddresses: others }),
        ...Object.fromEntries(Object.entries(texts).map(([field, text]) => [field, emptyToNull(text)])),
      };
      const records = client.records('contacts');
      const saved = contact
        ? await records.update(contact.id, body)
        : await records.create({ ...body, accountId: account });
      await changeGroups(client, contact?.id ?? readKey(saved), { before: groupsBefore, after: chosen });
    },
    changes: contactKeys,
    done: () => {
      toast(t.saved);
      done();
    },
  });
  const details = getErrorDetails(save.error);
  const isDuplicate = save.error instanceof Failure && save.error.code === 'UNIQUE_CONFLICT';
  const groupsOfAccount = groups.filter(({ accountId }) => accountId === account);
  const input = (name: 'name' | 'address' | 'company' | 'phone') => ({
    label: t.fields[name],
    value: values[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setValues((before) => ({ ...before, [name]: value }));
    },
    error: details[name],
    autoComplete: 'off',
  });
  return (
    <DialogForm write={save} submitLabel={saveLabel} cancel={done}>
      {contact === null && accounts.length > 1 && (
        <AccountSelect
          accounts={accounts}
          value={account}
          change={(id) => {
            setAccount(id);
            setChosen([]);
          }}
        />
      )}
      <TextInput {...input('name')} maxLength={200} data-autofocus />
      <TextInput
        {...input('address')}
        error={isDuplicate ? t.duplicate : details['address']}
        maxLength={254}
        inputMode="email"
        required
      />
      <OtherAddresses before={othersBefore} value={others} change={setOthers} error={details['otherAddresses']} />
      <TextInput {...input('company')} maxLength={255} />
      <TextInput {...input('phone')} maxLength={100} inputMode="tel" />
      {groupsOfAccount.length > 0 && may('contactGroups', 'update') && (
        <MultiSelect
          label={t.fields.groups}
          data={groupsOfAccount.map(({ id, name }) => ({ value: String(id), label: name }))}
          value={chosen.map(String)}
          onChange={(next) => setChosen(next.map(Number))}
          searchable
        />
      )}
      <Textarea
        label={t.fields.notes}
        value={values.notes}
        onChange={(event) => {
          const { value } = event.currentTarget;
          setValues((before) => ({ ...before, notes: value }));
        }}
        error={details['notes']}
        autosize
        minRows={2}
        maxRows={8}
      />
    </DialogForm>
  );
}

interface AccountSelectProps {
  readonly accounts: readonly Account[];
  readonly value: number | undefined;
  readonly change: (account: number) => void;
}

function AccountSelect({ accounts, value, change }: AccountSelectProps): ReactNode {
  const t = useInboxTexts().contacts.fields;
  return (
    <Select
      label={t.account}
      description={t.accountHint}
      data={accounts.map(({ id, address }) => ({ value: String(id), label: address }))}
      value={String(value)}
      onChange={(id) => id !== null && change(Number(id))}
      allowDeselect={false}
    />
  );
}

interface OtherAddressesProps {
  readonly before: readonly string[];
  readonly value: readonly string[];
  readonly change: (value: readonly string[]) => void;
  readonly error: string | undefined;
}

/** The addresses of merged contacts, which can be removed; nothing without any. */
function OtherAddresses({ before, value, change, error }: OtherAddressesProps): ReactNode {
  const { merging: t } = useInboxTexts().contacts;
  if (before.length === 0) return null;
  return (
    <MultiSelect
      label={t.others}
      description={t.othersHint}
      data={before}
      value={[...value]}
      onChange={change}
      error={error}
    />
  );
}

/** The key of a record that was created. */
const readKey = (record: unknown): number => (record as { readonly id: number }).id;

/** Adds a contact to groups, and removes it from others. */
async function changeGroups(
  client: Client,
  contact: number,
  { before, after }: { readonly before: readonly number[]; readonly after: readonly number[] },
): Promise<void> {
  const link = (group: number, action: 'add' | 'remove'): Promise<unknown> =>
    client.call(`contactGroups/${group}/members:${action}`, { method: 'POST', body: [contact] });
  for (const group of after) if (!before.includes(group)) await link(group, 'add');
  for (const group of before) if (!after.includes(group)) await link(group, 'remove');
}
