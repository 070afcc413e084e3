import { type ReactNode, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { IconButton } from '../../ui/icon-button.tsx';
import { Avatar } from '../avatar.tsx';
import { formatFullTime, formatShortTime } from '../times.ts';
import { splitMentions } from './mentions.ts';
import { NoteForm } from './note-form.tsx';
import { useMemberName, useMembers, useOwnId } from './team-data.ts';
import type { Note } from './team-types.ts';
import classes from './timeline.module.css';
import type { NoteActions } from './use-note-actions.ts';

interface NoteEntryProps {
  readonly account: number;
  readonly note: Note;
  readonly actions: NoteActions;
}

/** An internal note between the e-mails of a conversation. Only its author changes and deletes it. */
export function NoteEntry({ account, note, actions }: NoteEntryProps): ReactNode {
  const t = useInboxTexts().team.notes;
  const members = useMembers(account);
  const author = useMemberName(account)(note.authorId);
  const isPending = note.id < 0;
  const isOwn = useOwnId() === note.authorId && !isPending;
  const [isEditing, setEditing] = useState(false);
  if (isEditing)
    return (
      <NoteForm
        members={members}
        initialText={note.text}
        saveLabel={t.update}
        save={(text, mentions) => {
          setEditing(false);
          actions.update(note, text, mentions);
        }}
        cancel={() => setEditing(false)}
      />
    );
  return (
    <article className={classes.note} aria-label={t.note(author)} data-pending={isPending || undefined}>
      <header className={classes.head}>
        <Avatar name={author} />
        <span className={classes.author}>{author}</span>
        <span className={classes.meta}>{isPending ? t.sending : t.internal}</span>
        <span className={classes.space} />
        {isOwn && (
          <>
            <IconButton icon="edit" size="md" label={t.edit} onClick={() => setEditing(true)} />
            <IconButton icon="trash" size="md" label={t.remove} onClick={() => void actions.remove(note)} />
          </>
        )}
        <time className={classes.meta} dateTime={note.createdAt} title={formatFullTime(note.createdAt)}>
          {formatShortTime(note.createdAt)}
          {note.updatedAt > note.createdAt && ` · ${t.edited}`}
        </time>
      </header>
      <div className={classes.text} dir="auto">
        {splitMentions(note.text, members).map(({ start, text, member }) =>
          member ? (
            <span key={start} className={classes.mention}>
              {text}
            </span>
          ) : (
            text
          ),
        )}
      </div>
    </article>
  );
}
