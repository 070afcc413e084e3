import { getClient, useApplication } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { confirm } from '../../ui/confirm.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { changeThread, invalidateThread } from '../mail-queries.ts';
import { useOwnId } from './team-data.ts';
import type { Note } from './team-types.ts';

/** Writes of notes. They are shown before the server has answered, and reverted if it refuses them. */
export interface NoteActions {
  /** @param failed called with the text if it was not saved. */
  add(text: string, mentions: readonly number[], failed: () => void): void;
  update(note: Note, text: string, mentions: readonly number[]): void;
  remove(note: Note): Promise<void>;
}

/** Ids of notes that are not saved yet. */
let lastPendingId = 0;

export function useNoteActions(conversation: number): NoteActions {
  const application = useApplication();
  const t = useInboxTexts().team.notes;
  const { destroy } = useTexts().common;
  const self = useOwnId();
  const changeNotes = (change: (notes: readonly Note[]) => readonly Note[]): void =>
    changeThread(application, conversation, (thread) => ({
      ...thread,
      team: { ...thread.team, notes: change(thread.team.notes) },
    }));
  const run = async (write: Promise<unknown>, revert: () => void): Promise<void> => {
    try {
      await write;
    } catch (error) {
      revert();
      toast(getErrorMessage(error), { failed: true });
    }
    invalidateThread(application, conversation);
  };
  const records = () => getClient(application).records('conversationNotes');
  return {
    add: (text, mentions, failed) => {
      lastPendingId -= 1;
      const now = new Date().toISOString();
      const base = { conversationId: conversation, text, mentions };
      const pending: Note = { ...base, id: lastPendingId, authorId: self, createdAt: now, updatedAt: now };
      changeNotes((notes) => [...notes, pending]);
      void run(records().create(base), () => {
        changeNotes((notes) => notes.filter((each) => each !== pending));
        failed();
      });
    },
    update: (note, text, mentions) => {
      const changed = { ...note, text, mentions };
      changeNotes((notes) => notes.map((each) => (each.id === note.id ? changed : each)));
      void run(records().update(note.id, { text, mentions }), () =>
        changeNotes((notes) => notes.map((each) => (each.id === note.id ? note : each))),
      );
    },
    remove: async (note) => {
      const question = { title: t.removeTitle, text: t.removeText, confirmLabel: destroy, danger: true };
      if (!(await confirm(question))) return;
      changeNotes((notes) => notes.filter(({ id }) => id !== note.id));
      await run(records().destroy(note.id), () =>
        changeNotes((notes) => [...notes, note].sort((one, second) => one.id - second.id)),
      );
    },
  };
}
