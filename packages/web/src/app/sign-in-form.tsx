import { Button, Checkbox, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { getPublicClient, useApplication } from '../data/application.tsx';
import { beginSession } from '../data/browser-session.ts';
import { FormProblem } from '../data/problem.tsx';
import { useTexts } from '../ui/i18n/texts.tsx';

interface SignInFormProps {
  /** The account that was signed in. */
  readonly account?: string;
  /** Links below the button. */
  readonly children?: ReactNode;
}

export function SignInForm({ account: knownAccount = '', children }: SignInFormProps): ReactNode {
  const t = useTexts().shell.signIn;
  const application = useApplication();
  const [account, setAccount] = useState(knownAccount);
  const [password, setPassword] = useState('');
  const [stay, setStay] = useState(true);
  const signIn = useMutation({
    mutationFn: async () => {
      const signedIn = await getPublicClient(application).auth.signIn({ account, password });
      await beginSession(application, signedIn, stay);
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    signIn.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label={t.account}
          value={account}
          onChange={(event) => setAccount(event.currentTarget.value)}
          autoComplete="username"
          autoCapitalize="none"
          required
          autoFocus={knownAccount === ''}
        />
        <PasswordInput
          label={t.password}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          autoComplete="current-password"
          required
          {...(knownAccount !== '' && { 'data-autofocus': true })}
        />
        <Checkbox
          label={t.stay}
          description={t.stayHint}
          checked={stay}
          onChange={(event) => setStay(event.currentTarget.checked)}
        />
        <FormProblem error={signIn.error} />
        <Button type="submit" loading={signIn.isPending}>
          {t.submit}
        </Button>
        {children}
      </Stack>
    </form>
  );
}
