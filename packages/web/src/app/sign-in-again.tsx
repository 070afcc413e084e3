import { Anchor, Modal, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useApplication } from '../data/application.tsx';
import { useCheck } from '../data/queries.ts';
import { session } from '../data/session.ts';
import { useTexts } from '../ui/i18n/texts.tsx';
import { SignInForm } from './sign-in-form.tsx';

/** Above all other dialogs. */
const zIndex = 1000;

/**
 * The sign-in dialog after a session has ended. The page keeps its input, and pending writes continue after the
 * sign-in.
 */
export function SignInAgain(): ReactNode {
  const t = useTexts().shell.signIn;
  const application = useApplication();
  const { data: check } = useCheck();
  return (
    <Modal
      opened
      onClose={() => {}}
      title={t.endedTitle}
      zIndex={zIndex}
      overlayProps={{ backgroundOpacity: 0.5, blur: 8 }}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
    >
      <Stack>
        <Text size="sm">{t.ended}</Text>
        <SignInForm {...(check?.email && { account: check.email })}>
          <Anchor component="button" type="button" size="sm" onClick={() => session.clear(application)}>
            {t.other}
          </Anchor>
        </SignInForm>
      </Stack>
    </Modal>
  );
}
