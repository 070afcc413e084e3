import { Alert, Anchor, Button, Checkbox, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { clientOf, useApplication } from '../data/application.tsx';
import { FormProblem } from '../data/problem.tsx';
import { forgetAll } from '../data/queries.ts';
import { session } from '../data/session.ts';
import { useTexts } from '../ui/i18n/texts.tsx';
import { CardPage } from './card-page.tsx';

/** The sign-in of one application; afterwards the page that was asked for stands at the same address. */
export function SignIn(): ReactNode {
  const t = useTexts().shell;
  const application = useApplication();
  const [lost, setLost] = useState(false);
  if (lost) return <LostPassword back={() => setLost(false)} />;
  return (
    <CardPage title={t.signIn.title} text={t.signIn.to(application)}>
      {session.hasEnded(application) && <Alert role="status">{t.signIn.ended}</Alert>}
      <SignInForm application={application} lost={() => setLost(true)} />
    </CardPage>
  );
}

function SignInForm({ application, lost }: { application: string; lost: () => void }): ReactNode {
  const t = useTexts().shell.signIn;
  const [account, setAccount] = useState('');
  const [password, setPassword] = useState('');
  const [stay, setStay] = useState(true);
  const signIn = useMutation({
    mutationFn: () => clientOf(application).auth.signIn({ account, password }),
    onSuccess: ({ token }) => {
      forgetAll(application);
      session.signedIn(application, token, stay);
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
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
          autoFocus
        />
        <PasswordInput
          label={t.password}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          autoComplete="current-password"
          required
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
        <Anchor component="button" type="button" size="sm" onClick={lost}>
          {t.lost}
        </Anchor>
      </Stack>
    </form>
  );
}

function LostPassword({ back }: { back: () => void }): ReactNode {
  const t = useTexts().shell.lostPassword;
  const application = useApplication();
  const [email, setEmail] = useState('');
  const ask = useMutation({ mutationFn: () => clientOf(application).auth.lostPassword(email) });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    ask.mutate();
  };
  return (
    <CardPage title={t.title} text={t.text}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <TextInput
            type="email"
            label={t.email}
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
            autoComplete="email"
            required
            autoFocus
          />
          <FormProblem error={ask.error} />
          {ask.isSuccess && <Alert role="status">{t.sent}</Alert>}
          <Button type="submit" loading={ask.isPending}>
            {t.submit}
          </Button>
          <Anchor component="button" type="button" size="sm" onClick={back}>
            {t.backToSignIn}
          </Anchor>
        </Stack>
      </form>
    </CardPage>
  );
}
