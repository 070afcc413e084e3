import { Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { DialogForm } from '../../data/dialog-form.tsx';
import { FormProblem, getValueMessage } from '../../data/problem.tsx';
import { useCheck } from '../../data/queries.ts';
import { getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { PendingButton } from '../../ui/pending-button.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type AccountRecord, accountKeys } from './account-data.ts';

interface AliasCodeFormProps {
  readonly account: AccountRecord;
  readonly alias: string;
  readonly done: () => void;
}

/**
 * Requests a code for an alias, and checks the code that the user enters: it proves that the account receives mail
 * there.
 */
export function AliasCodeForm({ account, alias, done }: AliasCodeFormProps): ReactNode {
  const t = useInboxTexts().accounts.identities;
  const [code, setCode] = useState('');
  const typedCode = code.trim();
  /** Administrators confirm an alias without a code. */
  const isAdministrator = useCheck().data?.currentRole === 'admin';
  const query = { filterByTk: account.id };
  const send = useApiMutation({
    write: (client) => client.post('accounts:verifyAlias', { address: alias }, query),
    changes: [],
  });
  const verify = useApiMutation({
    write: (client) =>
      client.post('accounts:confirmAlias', { address: alias, ...(typedCode !== '' && { code: typedCode }) }, query),
    changes: accountKeys,
    done: () => {
      toast(t.confirmed(alias));
      done();
    },
  });
  return (
    <DialogForm write={verify} submitLabel={t.confirm} cancel={done} isReady={isAdministrator || typedCode !== ''}>
      <Text size="sm">{t.verifyText(alias)}</Text>
      <PendingButton variant="default" pending={send.isPending} onClick={() => send.mutate()} data-autofocus>
        {send.isSuccess ? t.sendAgain : t.send}
      </PendingButton>
      {send.isSuccess && (
        <Text size="sm" role="status">
          {t.sent(alias)}
        </Text>
      )}
      <FormProblem error={send.error && new Error(getValueMessage(send.error))} />
      <TextInput
        label={t.code}
        {...(isAdministrator && { description: t.adminHint })}
        value={code}
        onChange={(event) => setCode(event.currentTarget.value)}
        error={getErrorDetails(verify.error)['code']}
        inputMode="numeric"
        autoComplete="one-time-code"
        maxLength={20}
      />
    </DialogForm>
  );
}
