import { Alert, Button, PasswordInput, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { getPublicClient } from '../data/application.tsx';
import { FormProblem } from '../data/problem.tsx';
import { useTexts } from '../ui/i18n/texts.tsx';
import { ButtonLink } from '../ui/links.tsx';
import { CardPage } from './card-page.tsx';
import { useLinkToken } from './link-token.ts';

/** Sets a new password with the token of the link in an e-mail. */
export function ResetPassword(): ReactNode {
  const t = useTexts().shell;
  const { token, application } = useLinkToken();
  const [password, setPassword] = useState('');
  const [again, setAgain] = useState('');
  const differ = again !== '' && again !== password;
  const reset = useMutation({
    mutationFn: (resetToken: string) =>
      getPublicClient(application).auth.resetPassword({ token: resetToken, password }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (token !== null && password === again) reset.mutate(token);
  };
  if (token === null)
    return (
      <CardPage title={t.reset.title}>
        <Text>{t.reset.noToken}</Text>
      </CardPage>
    );
  if (reset.isSuccess)
    return (
      <CardPage title={t.reset.title}>
        <Alert role="status">{t.reset.done}</Alert>
        <ButtonLink to="/a/$app" params={{ app: application }}>
          {t.signIn.submit}
        </ButtonLink>
      </CardPage>
    );
  return (
    <CardPage title={t.reset.title} text={t.reset.hint}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <PasswordInput
            label={t.reset.password}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            autoComplete="new-password"
            minLength={8}
            required
            autoFocus
          />
          <PasswordInput
            label={t.reset.again}
            value={again}
            onChange={(event) => setAgain(event.currentTarget.value)}
            autoComplete="new-password"
            error={differ && t.reset.differ}
            required
          />
          <FormProblem error={reset.error} />
          <Button type="submit" loading={reset.isPending} disabled={differ}>
            {t.reset.submit}
          </Button>
        </Stack>
      </form>
    </CardPage>
  );
}
