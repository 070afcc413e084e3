import { Button, Group, Modal, Stack, Textarea } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { toast } from '../../ui/toasts.tsx';
import classes from './records-page.module.css';

/** Pastes the clipboard into the grid on devices without a keyboard. Other devices do not show the button. */
export function PasteButton({ paste }: { readonly paste: (text: string) => void }): ReactNode {
  const t = useImportTexts().paste;
  const [isOpen, setOpen] = useState(false);
  const readClipboard = async (): Promise<void> => {
    let text: string;
    try {
      text = await navigator.clipboard.readText();
    } catch {
      // The page is not from a secure address, or the user has refused.
      setOpen(true);
      return;
    }
    if (text === '') toast(t.empty, { failed: true });
    else paste(text);
  };
  return (
    <>
      <IconButton
        className={classes.touchOnly ?? ''}
        icon="clipboard"
        label={t.button}
        onClick={() => void readClipboard()}
      />
      <Modal opened={isOpen} onClose={() => setOpen(false)} title={t.textTitle}>
        {isOpen && (
          <TextForm
            submit={(text) => {
              setOpen(false);
              paste(text);
            }}
            cancel={() => setOpen(false)}
          />
        )}
      </Modal>
    </>
  );
}

interface TextFormProps {
  readonly submit: (text: string) => void;
  readonly cancel: () => void;
}

/** A field into which the user pastes. */
function TextForm({ submit, cancel }: TextFormProps): ReactNode {
  const t = useImportTexts().paste;
  const common = useTexts().common;
  const [text, setText] = useState('');
  return (
    <Stack>
      <Textarea
        data-autofocus
        label={t.text}
        description={t.textHint}
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        rows={5}
        autoCapitalize="none"
        spellCheck={false}
      />
      <Group justify="flex-end">
        <Button variant="default" onClick={cancel}>
          {common.cancel}
        </Button>
        <Button disabled={text === ''} onClick={() => submit(text)}>
          {t.next}
        </Button>
      </Group>
    </Stack>
  );
}
