import { TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { DialogForm } from '../../data/dialog-form.tsx';
import { emptyToNull, getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type AccountRecord, accountKeys, type Identity } from './account-data.ts';

interface IdentityFormProps {
  readonly account: AccountRecord;
  /** Null for a new alias. */
  readonly identity: Identity | null;
  readonly done: () => void;
}

/** Adds an alias to an account, or changes the display name of one of its addresses. */
export function IdentityForm({ account, identity, done }: IdentityFormProps): ReactNode {
  const t = useInboxTexts().accounts.identities;
  const { save: saveLabel } = useTexts().common;
  const [address, setAddress] = useState(identity?.address ?? '');
  const [name, setName] = useState(identity?.name ?? '');
  const save = useApiMutation({
    write: (client) =>
      client.post('accounts:update', toIdentityValues(account, identity, { address, name }), {
        filterByTk: account.id,
      }),
    changes: accountKeys,
    done: () => {
      toast(identity ? t.saved : t.added);
      done();
    },
  });
  const details = getErrorDetails(save.error);
  return (
    <DialogForm write={save} submitLabel={identity ? saveLabel : t.add} cancel={done}>
      {identity === null && (
        <TextInput
          label={t.columns.address}
          type="email"
          value={address}
          onChange={(event) => setAddress(event.currentTarget.value)}
          error={findProblem(details, 'aliases')}
          autoComplete="off"
          data-autofocus
          required
        />
      )}
      <TextInput
        label={t.columns.name}
        description={t.nameHint}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={findProblem(details, 'identities')}
        maxLength={200}
        autoComplete="off"
        {...(identity && { 'data-autofocus': true })}
      />
    </DialogForm>
  );
}

function toIdentityValues(
  account: AccountRecord,
  identity: Identity | null,
  written: { readonly address: string; readonly name: string },
): Record<string, unknown> {
  const name = emptyToNull(written.name);
  const address = identity?.address ?? written.address.trim();
  const others = (account.identities ?? []).filter((each) => each.address !== address);
  const named = [...others.map((each) => ({ address: each.address, name: each.name })), { address, name }];
  return {
    ...(identity === null && { aliases: [...(account.aliases ?? []), address] }),
    identities: named,
  };
}

/** The first error message of a field or of one of its entries. */
function findProblem(details: Readonly<Record<string, string>>, field: string): string | undefined {
  return Object.entries(details).find(([path]) => path === field || path.startsWith(`${field}.`))?.[1];
}
