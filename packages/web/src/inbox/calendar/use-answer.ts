import { useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { createIdempotencyKey } from '../../data/idempotency-key.ts';
import { getErrorMessage } from '../../data/problem.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { toast } from '../../ui/toasts.tsx';
import { invalidateThread } from '../mail-queries.ts';
import type { Email } from '../mail-types.ts';
import type { Invitation } from './invitation.ts';
import type { InvitationAnswer } from './invitation-answers.ts';

interface AnswerState {
  /** What the user has answered since the card was opened. */
  readonly given: InvitationAnswer | null;
  readonly give: (answer: InvitationAnswer) => Promise<void>;
}

interface AnswerParts {
  readonly email: Email;
  readonly conversation: number | null;
  /** The text of the calendar file. */
  readonly text: string;
  readonly invitation: Invitation;
  /** The invited address of the user. */
  readonly address: string;
}

const maxSubject = 200;

/** Answers an invitation by a message to its organizer. The answer is shown at once, and can be undone until it is sent. */
export function useAnswer({ email, conversation, text, invitation, address }: AnswerParts): AnswerState {
  const t = useInboxTexts().reading.invitation;
  const undoText = useInboxTexts().undo;
  const application = useApplication();
  const [given, setGiven] = useState<InvitationAnswer | null>(null);
  const refresh = (): void => {
    if (conversation !== null) invalidateThread(application, conversation);
  };
  const cancel = async (id: number, before: InvitationAnswer | null): Promise<void> => {
    const client = getClient(application);
    try {
      await client.post('emails:cancelSend', { id });
      setGiven(before);
      await client.post('emails:destroy', { ids: [id] }, { force: true });
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
    refresh();
  };
  const give = async (answer: InvitationAnswer): Promise<void> => {
    const before = given;
    setGiven(answer);
    try {
      const [{ default: library }, { writeAnswer }] = await Promise.all([import('ical.js'), import('./invitation.ts')]);
      const reply = writeAnswer(text, { address, answer, time: new Date() }, library);
      const title = t.subject(t.answers[answer], invitation.summary).replaceAll(/\p{Cc}+/gu, ' ');
      const { data } = await getClient(application).call<{ readonly id: number }>('emails:reply', {
        method: 'POST',
        idempotencyKey: createIdempotencyKey(),
        body: {
          id: email.id,
          from: address,
          to: [invitation.organizer?.address],
          cc: [],
          subject: title.slice(0, maxSubject).toWellFormed(),
          text: t.mailText(t.answers[answer], invitation.summary),
          quote: false,
          attachments: [{ filename: 'invite.ics', contentType: 'text/calendar', content: toBase64(reply) }],
        },
      });
      const dismiss = toast(t.sent(t.answers[answer]), {
        action: {
          label: undoText,
          run: () => {
            dismiss();
            void cancel(data.id, before);
          },
        },
      });
    } catch (error) {
      setGiven(before);
      toast(getErrorMessage(error), { failed: true });
    }
    refresh();
  };
  return { given, give };
}

function toBase64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));
}
