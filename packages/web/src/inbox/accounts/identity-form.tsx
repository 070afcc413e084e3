import { Input, Skeleton, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { DialogForm } from '../../data/dialog-form.tsx';
import { emptyToNull, getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { textToHtml } from '../compose/draft-html.ts';
import { useEditorModule } from '../compose/editor-module.ts';
import type { Identity } from '../mail-types.ts';
import { type AccountRecord, accountKeys } from './account-data.ts';

interface IdentityFormProps {
  readonly account: AccountRecord;
  /** Null for a new alias. */
  readonly identity: Identity | null;
  readonly done: () => void;
}

/** A signature has no pictures of its own. */
const noPictures = { has: () => false, load: async () => null };

/** Adds an alias to an account, or changes the display name of one of its addresses. */
export function IdentityForm({ account, identity, done }: IdentityFormProps): ReactNode {
  const t = useInboxTexts().accounts.identities;
  const compose = useComposeTexts();
  const { save: saveLabel } = useTexts().common;
  const [address, setAddress] = useState(identity?.address ?? '');
  const [name, setName] = useState(identity?.name ?? '');
  const [signature, setSignature] = useState(toSignatureHtml(identity));
  const { module } = useEditorModule();
  const save = useApiMutation({
    write: (client) =>
      client.post('accounts:update', toIdentityValues(account, identity, { address, name, signature }), {
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
      <Input.Wrapper label={compose.signature.title} description={compose.signature.hint} labelElement="div">
        {module ? (
          <module.RichTextEditor
            label={compose.signature.title}
            html={signature}
            version={0}
            change={setSignature}
            pictures={noPictures}
            addFiles={() => true}
            autoFocus={false}
          />
        ) : (
          <Skeleton height={200} />
        )}
      </Input.Wrapper>
    </DialogForm>
  );
}

function toIdentityValues(
  account: AccountRecord,
  identity: Identity | null,
  written: { readonly address: string; readonly name: string; readonly signature: string },
): Record<string, unknown> {
  const name = emptyToNull(written.name);
  const address = identity?.address ?? written.address.trim();
  const others = (account.identities ?? []).filter((each) => each.address !== address);
  const isEmpty = !/[^\s]/.test(written.signature.replace(/<[^>]*>|&nbsp;/g, ''));
  const signature = isEmpty ? null : { html: written.signature, text: null };
  // An entry without a signature keeps the stored one.
  const named = [...others.map((each) => ({ address: each.address, name: each.name })), { address, name, signature }];
  return {
    ...(identity === null && { aliases: [...(account.aliases ?? []), address] }),
    identities: named,
  };
}

function toSignatureHtml(identity: Identity | null): string {
  const signature = identity?.signature;
  return signature?.html ?? (signature?.text ? textToHtml(signature.text) : '');
}

/** The first error message of a field or of one of its entries. */
function findProblem(details: Readonly<Record<string, string>>, field: string): string | undefined {
  return Object.entries(details).find(([path]) => path === field || path.startsWith(`${field}.`))?.[1];
}
