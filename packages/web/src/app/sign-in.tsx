import { Alert, Anchor, Button, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { getPublicClient, useApplication } from '../data/application.tsx';
import { FormProblem } from '../data/problem.tsx';
import { session } from '../data/session.ts';
import { useTexts } from '../ui/i18n/texts.tsx';
import { ButtonLink } from '../ui/links.tsx';
import { CardPage } from './card-page.tsx';
import { SignInForm } from './sign-in-form.tsx';

/** The sign-in page of an application. After the sign-in, the requested page is shown at the same URL. */
export function SignIn(): ReactNode {
  const t = useTexts().shell;
  const application = useApplication();
  const [isPasswordForgotten, setIsPasswordForgotten] = useState(false);
  const { exists, needsSetup, sendsMail } = session.signInInfo(application);
  if (!exists) return <NoApplication name={application} />;
  if (needsSetup)
    return (
      <CardPage title={t.setup.title}>
        <Text>{t.setup.whereLink}</Text>
      </CardPage>
    );
  if (isPasswordForgotten) return <ForgotPassword back={() => setIsPasswordForgotten(false)} />;
  return (
    <CardPage title={t.signIn.title} text={t.signIn.to(application)}>
      <SignInForm>
        {sendsMail ? (
          <Anchor component="button" type="button" size="sm" onClick={() => setIsPasswordForgotten(true)}>
            {t.signIn.forgotPassword}
          </Anchor>
        ) : (
          <Text size="sm" c="dimmed">
            {t.signIn.forgotPasswordAsk}
          </Text>
        )}
      </SignInForm>
    </CardPage>
  );
}

function NoApplication({ name }: { name: string }): ReactNode {
  const t = useTexts().shell.signIn;
  return (
    <CardPage title={t.noApplication} text={t.noApplicationText(name)}>
      <ButtonLink to="/a/$app" params={{ app: 'main' }} variant="default">
        {t.toMain}
      </ButtonLink>
    </CardPage>
  );
}

function ForgotPassword({ back }: { back: () => void }): ReactNode {
  const t = useTexts().shell.lostPassword;
  const application = useApplication();
  const [email, setEmail] = useState('');
  const requestReset = useMutation({ mutationFn: () => getPublicClient(application).auth.lostPassword(email) });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    requestReset.mutate();
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
          <FormProblem error={requestReset.error} />
          {requestReset.isSuccess && <Alert role="status">{t.sent}</Alert>}
          <Button type="submit" loading={requestReset.isPending}>
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
