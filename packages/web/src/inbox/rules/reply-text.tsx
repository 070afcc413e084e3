import { Text, Textarea } from '@mantine/core';
import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';

interface ReplyTextProps {
  readonly label: string;
  readonly description?: string;
  readonly reply: { readonly text?: string; readonly html?: string | null };
  readonly change: (part: { readonly text: string; readonly html: null }) => void;
  readonly required?: boolean;
  readonly error: string | undefined;
}

/**
 * The text of an automatic reply. HTML can only be set through the API. A change of the text removes it: mail programs
 * show the HTML, so senders would still see the old text.
 */
export function ReplyText({ label, description, reply, change, required = false, error }: ReplyTextProps): ReactNode {
  const t = useInboxTexts().rules;
  return (
    <>
      <Textarea
        label={label}
        description={description}
        value={reply.text ?? ''}
        onChange={(event) => change({ text: event.currentTarget.value, html: null })}
        autosize
        minRows={4}
        maxRows={14}
        maxLength={20_000}
        required={required}
        error={error}
      />
      {typeof reply.html === 'string' && (
        <Text size="sm" c="dimmed">
          {t.replyHtmlHint}
        </Text>
      )}
    </>
  );
}
