/** The parts of an open conversation that its team works with. */
import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { ValueStore } from '../../ui/store.ts';
import type { Thread } from '../mail-types.ts';
import { NoteForm } from './note-form.tsx';
import { useMembers } from './team-data.ts';
import type { NoteActions } from './use-note-actions.ts';

/** Texts of notes that are not saved yet, by conversation. They survive a visit of another conversation. */
const drafts = new Map<number, string>();
const maxDrafts = 50;

function rememberDraft(conversation: number, text: string): void {
  drafts.delete(conversation);
  if (text === '') return;
  const [oldest] = drafts.keys();
  if (drafts.size >= maxDrafts && oldest !== undefined) drafts.delete(oldest);
  drafts.set(conversation, text);
}

/** The conversation whose form for a note is open, so that a key can open it. */
export const noteForm = new ValueStore<number | null>(null);

interface NewNoteProps {
  readonly thread: Pick<Thread, 'id' | 'accountId'>;
  readonly actions: NoteActions;
  readonly isOpen: boolean;
}

/** The form for a new note below a conversation, or the button that opens it. */
export function NewNote({ thread: { id, accountId }, actions, isOpen }: NewNoteProps): ReactNode {
  const t = useInboxTexts().team.notes;
  const members = useMembers(accountId);
  const [attempt, setAttempt] = useState(0);
  const close = (): void => noteForm.set(null);
  if (!isOpen)
    return (
      <div>
        <Button
          variant="subtle"
          color="gray"
          size="compact-md"
          leftSection={<Icon name="note" />}
          onClick={() => noteForm.set(id)}
        >
          {t.add}
        </Button>
      </div>
    );
  return (
    <NoteForm
      key={attempt}
      members={members}
      initialText={drafts.get(id) ?? ''}
      saveLabel={t.save}
      onText={(text) => rememberDraft(id, text)}
      save={(text, mentions) => {
        rememberDraft(id, '');
        close();
        actions.add(text, mentions, () => {
          rememberDraft(id, text);
          setAttempt((before) => before + 1);
          noteForm.set(id);
        });
      }}
      cancel={close}
    />
  );
}
