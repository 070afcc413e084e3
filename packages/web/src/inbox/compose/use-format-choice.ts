import { confirm } from '../../ui/confirm.tsx';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import type { DraftContent } from './draft-content.ts';
import { isFormatted, textToHtml } from './draft-html.ts';
import type { DraftSession } from './draft-session.ts';
import { storeFormat } from './format-choice.ts';
import { htmlToPlainText } from './plain-text.ts';

interface FormatChoice {
  readonly isPlain: boolean;
  /** Changes to the other format, after a confirmation if formatting would be lost. */
  readonly change: () => Promise<void>;
}

/** Whether a message is plain text. The choice also holds for the messages that are begun later. */
export function useFormatChoice(session: DraftSession, content: DraftContent | null): FormatChoice {
  const t = useComposeTexts();
  const change = async (): Promise<void> => {
    if (content === null) return;
    const { html, quote, text } = content;
    if (html === null) {
      session.rewrite({ html: textToHtml(text) });
      storeFormat('html');
      return;
    }
    const question = { title: t.plainTextTitle, text: t.plainTextText, confirmLabel: t.plainTextAct };
    if (isFormatted(html) && !(await confirm(question))) return;
    const quoted = quote === null ? '' : `\n\n${htmlToPlainText(quote)}`;
    session.rewrite({ html: null, quote: null, text: htmlToPlainText(html) + quoted });
    storeFormat('text');
  };
  return { isPlain: content !== null && content.html === null, change };
}
