import { Button, Group } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import type { Attachment } from '../mail-types.ts';
import { MailFrame } from '../thread/mail-frame.tsx';
import classes from './composer.module.css';

interface QuotedOriginalProps {
  /** The stored draft, or the e-mail that is quoted; its images are read with it. */
  readonly email: number;
  readonly html: string;
  readonly attachments: readonly Attachment[];
  /** Moves the quoted message into the text. */
  readonly edit: () => void;
  readonly remove: () => void;
}

/**
 * The message that a reply quotes. It is shown as it was received, in the same frame as a received message, and it is sent
 * as it is; the editor would lose its layout.
 */
export function QuotedOriginal({ email, html, attachments, edit, remove }: QuotedOriginalProps): ReactNode {
  const t = useComposeTexts().quote;
  const [isShown, setShown] = useState(false);
  return (
    <section aria-label={t.title} className={classes.quoted}>
      <Group gap="xs">
        <Button
          size="compact-xs"
          variant="default"
          aria-expanded={isShown}
          aria-label={isShown ? t.hide : t.show}
          onClick={() => setShown(!isShown)}
        >
          •••
        </Button>
        {isShown && (
          <>
            <Button size="compact-xs" variant="subtle" color="gray" onClick={edit}>
              {t.edit}
            </Button>
            <Button size="compact-xs" variant="subtle" color="gray" onClick={remove}>
              {t.remove}
            </Button>
          </>
        )}
      </Group>
      {isShown && <MailFrame email={email} html={html} attachments={attachments} foldsQuotes={false} />}
    </section>
  );
}
