import { Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { getPublicClient } from '../data/application.tsx';
import { beginSession } from '../data/browser-session.ts';
import { FormProblem } from '../data/problem.tsx';
import { useTexts } from '../ui/i18n/texts.tsx';
import { CardPage } from './card-page.tsx';
import { useLinkToken } from './link-token.ts';

/** Creates the first administrator with the token of the link that the server has printed. */
export function Setup(): ReactNode {
  const t = useTexts().shell;
  const navigate = useNavigate();
  const { token } = useLinkToken();
  const [values, setValues] = useState({ email: '', nickname: '', password: '' });
  const setup = useMutation({
    mutationFn: (setupToken: string) => {
      const { nickname, ...rest } = values;
      return getPublicClient('main').auth.setup({ token: setupToken, ...rest, ...(nickname && { nickname }) });
    },
    onSuccess: async (signedIn) => {
      await beginSession('main', signedIn, true);
      return navigate({ to: '/a/$app/data', params: { app: 'main' } });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (token !== null) setup.mutate(token);
  };
  if (token === null)
    return (
      <CardPage title={t.setup.title}>
        <Text>{t.setup.noToken}</Text>
      </CardPage>
    );
  return (
    <CardPage title={t.setup.title} text={t.setup.text}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            type="email"
            label={t.setup.email}
            value={values.email}
            onChange={(event) => setValues({ ...values, email: event.currentTarget.value })}
            autoComplete="username"
            required
            autoFocus
          />
          <TextInput
            label={t.setup.nickname}
            value={values.nickname}
            onChange={(event) => setValues({ ...values, nickname: event.currentTarget.value })}
            autoComplete="name"
          />
          <PasswordInput
            label={t.signIn.password}
            description={t.reset.hint}
            value={values.password}
            onChange={(event) => setValues({ ...values, password: event.currentTarget.value })}
            autoComplete="new-password"
            minLength={8}
            required
          />
          <FormProblem error={setup.error} />
          <Button type="submit" loading={setup.isPending}>
            {t.setup.submit}
          </Button>
        </Stack>
      </form>
    </CardPage>
  );
}
