import { useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { confirm } from '../../ui/confirm.tsx';
import { formatDateTime } from '../../ui/date-time.tsx';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import { findInvalidAddress } from './draft-content.ts';
import type { DraftOrigin } from './draft-state.ts';
import type { AttachResult } from './draft-uploads.ts';
import { getOpenMessage, type OpenMessage } from './open-message.ts';
import { queueMessage } from './outgoing-messages.ts';
import { findPlaceholders } from './placeholders.ts';

interface MessageActions {
  readonly isSending: boolean;
  /** @param sendAt ISO 8601; by default as soon as possible. */
  readonly send: (sendAt?: string | null) => Promise<void>;
  /** Deletes the draft, after a confirmation if something was written. */
  readonly discard: () => Promise<void>;
  /** Closes the composer and keeps the draft. The composer stays open if the draft cannot be saved. */
  readonly close: () => Promise<void>;
  readonly attach: (files: readonly File[]) => void;
  /** Adds a picture to the text. @param insert called with its content id, a description and its width. */
  readonly attachPicture: (file: File, insert: InsertPicture) => Promise<void>;
}

type InsertPicture = (contentId: string, alt: string, width: number | null) => void;

/** Pixels. Wider pictures are shown in this width. */
const maxPictureWidth = 640;

interface MessageActionsOptions {
  readonly message: OpenMessage;
  /** Called when the message was sent, discarded or stored as a draft. */
  readonly done: () => void;
  /** Called with the draft of a message whose sending was undone. */
  readonly reopen: (beginning: DraftOrigin) => void;
}

/** Everything that the composer can do with a message as a whole. */
export function useMessageActions({ message, done, reopen }: MessageActionsOptions): MessageActions {
  const t = useInboxTexts().compose;
  const application = useApplication();
  const { session } = message;
  const [isSending, setIsSending] = useState(false);
  const undoSend = useUndoSend(reopen);

  const texts = useComposeTexts();
  const report = (id: number | null, sendAt: string | null): void => {
    const text = sendAt === null ? t.sent : texts.schedule.done(formatDateTime(sendAt, true));
    toast(text, id === null ? {} : { action: { label: t.undoSend, run: () => void undoSend(id) } });
  };
  const send = async (sendAt: string | null = null): Promise<void> => {
    // An address is added when its field loses the focus.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    const { content } = session.snapshot();
    if (isSending || content === null || findInvalidAddress(content) !== null) return;
    const names = findPlaceholders(content);
    const { sendTitle: title, sendText, sendAct: confirmLabel } = texts.templates;
    if (names.length > 0 && !(await confirm({ title, text: sendText(names), confirmLabel }))) return;
    setIsSending(true);
    const id = await session.send(sendAt);
    setIsSending(false);
    if (id === null && session.isUnreachable) {
      const refused = (error: Error | null): void => {
        toast(error ? getErrorMessage(error) : t.conflict.title, { failed: true });
      };
      queueMessage({ application, message, sendAt, sent: () => report(null, sendAt), refused });
      done();
      return;
    }
    if (id === null) {
      const { error } = session.snapshot();
      // The composer shows the error itself while it is open.
      if (error && getOpenMessage(application) !== message) toast(getErrorMessage(error), { failed: true });
      return;
    }
    done();
    report(id, sendAt);
  };
  const discard = async (): Promise<void> => {
    const question = { title: t.discardTitle, text: t.discardText, confirmLabel: t.discardAct, danger: true };
    if (session.hasWork && !(await confirm(question))) return;
    done();
    session.discard().catch((error: unknown) => toast(getErrorMessage(error), { failed: true }));
  };
  const close = async (): Promise<void> => {
    if (await session.close()) done();
  };
  const reportAttached = (file: File, attached: AttachResult): void => {
    if (attached.done || attached.isCancelled) return;
    const reason = attached.error ? getErrorMessage(attached.error) : t.unsaved;
    toast(t.notAttached(file.name, reason), { failed: true });
  };
  const attach = (files: readonly File[]): void => {
    for (const file of files) void session.uploads.add(file).then((attached) => reportAttached(file, attached));
  };
  const attachPicture = async (file: File, insert: InsertPicture): Promise<void> => {
    const bitmap = await createImageBitmap(file).catch(() => null);
    const width = bitmap && bitmap.width > maxPictureWidth ? maxPictureWidth : null;
    bitmap?.close();
    const { contentId, attached } = session.uploads.addPicture(file);
    insert(contentId, file.name.replace(/\.\w+$/, ''), width);
    reportAttached(file, await attached);
  };
  return { isSending, send, discard, close, attach, attachPicture };
}

/** Takes a queued message back from the outbox and opens it as a draft. */
function useUndoSend(reopen: (beginning: DraftOrigin) => void): (id: number) => Promise<void> {
  const application = useApplication();
  return async (id) => {
    try {
      const client = getClient(application);
      const draft = await client.post<{ id: number; conversationId: number }>('emails:cancelSend', { id });
      reopen({ kind: 'draft', email: draft.id, conversation: draft.conversationId });
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
}
