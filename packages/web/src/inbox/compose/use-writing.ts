import { useEffect } from 'react';
import { clientOf } from '../../data/application.tsx';
import { messageOf } from '../../data/problem.tsx';
import { useCheck, useScope } from '../../data/queries.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import type { Account } from '../mail.ts';
import { type Beginning, DraftSession } from './draft-session.ts';
import { type OpenMessage, openMessage, setOpenMessage, useOpenMessage } from './open-message.ts';

export interface Writing {
  /** The message that is being written, or null. */
  readonly message: OpenMessage | null;
  /** The conversation that it belongs to, or null. */
  readonly conversation: number | null;
  /** Begins another one; the one before is put aside, and stays where it cannot be saved. */
  begin(beginning: Beginning): Promise<void>;
  /** It was sent, discarded or put aside. Another one that was begun meanwhile stays. */
  end(message: OpenMessage): void;
}

let begun = 0;

/** What somebody writes in the inbox. */
export function useWriting(accounts: readonly Account[]): Writing {
  const [application] = useScope();
  const { data: check } = useCheck();
  const t = useInboxTexts();
  const open = useOpenMessage(application);
  const isOthers = open !== null && check !== undefined && open.writer !== check.id;
  useEffect(() => {
    if (isOthers) setOpenMessage(application, null);
  }, [isOthers, application]);
  const message = check === undefined || isOthers ? null : open;
  const begin = async (beginning: Beginning): Promise<void> => {
    const before = isOthers ? null : openMessage(application);
    // A key that is pressed twice begins one answer.
    if (before && beginning.kind !== 'new' && isSame(before.beginning, beginning)) return;
    if (before && !(await before.session.close())) {
      const { error } = before.session.snapshot();
      toast(error ? messageOf(error) : t.compose.unsaved, { failed: true });
      return;
    }
    const signatures = new Map(accounts.flatMap(({ id, signature }) => (signature ? [[id, signature] as const] : [])));
    const session = new DraftSession(clientOf(application), beginning, signatures);
    begun += 1;
    setOpenMessage(application, { id: begun, beginning, session, writer: check?.id ?? null });
  };
  const of = message?.beginning;
  return {
    message,
    conversation: of && 'conversation' in of ? of.conversation : null,
    begin,
    end: (ended) => {
      if (openMessage(application) === ended) setOpenMessage(application, null);
    },
  };
}

function isSame(one: Beginning, other: Beginning): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
