import { useEffect } from 'react';
import { getClient } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { useCheck, useScope } from '../../data/queries.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import type { Account } from '../mail-types.ts';
import { DraftSession } from './draft-session.ts';
import type { DraftOrigin } from './draft-state.ts';
import { loadEditor } from './editor-module.ts';
import { readFormat } from './format-choice.ts';
import { getOpenMessage, type OpenMessage, setOpenMessage, useOpenMessage } from './open-message.ts';
import { listSenders } from './senders.ts';

export interface ComposerState {
  /** The message that is being written, or null. */
  readonly message: OpenMessage | null;
  /** The conversation that it belongs to, or null. */
  readonly conversation: number | null;
  /**
   * Starts another message after the current one was stored as a draft. The current one stays open if it cannot be
   * saved.
   */
  begin(beginning: DraftOrigin): Promise<void>;
  /** Closes a message that was sent, discarded or stored. A message that was started meanwhile stays open. */
  end(message: OpenMessage): void;
}

let lastMessageId = 0;

/** Milliseconds after which the editor is loaded in advance. */
const editorDelay = 3000;

/** The message that is being written in the inbox. */
export function useComposer(accounts: readonly Account[]): ComposerState {
  const [application] = useScope();
  const { data: check } = useCheck();
  const t = useInboxTexts();
  const open = useOpenMessage(application);
  // Loaded after the inbox, so that the composer opens at once.
  useEffect(() => {
    const timer = setTimeout(() => void loadEditor().catch(() => {}), editorDelay);
    return () => clearTimeout(timer);
  }, []);
  const belongsToOtherUser = open !== null && check !== undefined && open.writer !== check.id;
  useEffect(() => {
    if (belongsToOtherUser) setOpenMessage(application, null);
  }, [belongsToOtherUser, application]);
  const message = check === undefined || belongsToOtherUser ? null : open;
  const begin = async (beginning: DraftOrigin): Promise<void> => {
    const before = belongsToOtherUser ? null : getOpenMessage(application);
    // A key that is pressed twice starts only one reply.
    if (before && beginning.kind !== 'new' && isSameOrigin(before.beginning, beginning)) return;
    if (before && !(await before.session.close())) {
      const { error } = before.session.snapshot();
      toast(error ? getErrorMessage(error) : t.compose.unsaved, { failed: true });
      return;
    }
    const options = { senders: listSenders(accounts), format: readFormat() };
    const session = new DraftSession(getClient(application), beginning, options);
    lastMessageId += 1;
    setOpenMessage(application, { id: lastMessageId, beginning, session, writer: check?.id ?? null });
  };
  const origin = message?.beginning;
  return {
    message,
    conversation: origin && 'conversation' in origin ? origin.conversation : null,
    begin,
    end: (ended) => {
      if (getOpenMessage(application) === ended) setOpenMessage(application, null);
    },
  };
}

function isSameOrigin(one: DraftOrigin, other: DraftOrigin): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
