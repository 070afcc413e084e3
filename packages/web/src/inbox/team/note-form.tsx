import { Button, Textarea } from '@mantine/core';
import type { AccountMember } from '@tablinum/client';
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { findMentionable, findMentionStart, listMentions } from './mentions.ts';
import classes from './timeline.module.css';

interface NoteFormProps {
  readonly members: readonly AccountMember[];
  readonly initialText: string;
  readonly saveLabel: string;
  /** Called with every change, so that a text survives a visit of another conversation. */
  readonly onText?: (text: string) => void;
  readonly save: (text: string, mentions: readonly number[]) => void;
  readonly cancel: () => void;
}

/** The form of a note. After `@`, it proposes members; Ctrl+Enter saves. */
export function NoteForm({ members, initialText, saveLabel, onText, save, cancel }: NoteFormProps): ReactNode {
  const t = useInboxTexts().team.notes;
  const listId = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(initialText);
  const [position, setPosition] = useState(initialText.length);
  const [active, setActive] = useState(0);
  const [isDismissed, setDismissed] = useState(false);
  const start = isDismissed ? null : findMentionStart(text, position);
  const proposed = start ? findMentionable(members, start.typed) : [];
  const change = (next: string, cursor: number): void => {
    setText(next);
    setPosition(cursor);
    setActive(0);
    setDismissed(false);
    onText?.(next);
  };
  const pick = (member: AccountMember): void => {
    if (!start) return;
    const inserted = `@${member.name} `;
    const cursor = start.index + inserted.length;
    change(text.slice(0, start.index) + inserted + text.slice(position), cursor);
    setDismissed(true);
    requestAnimationFrame(() => field.current?.setSelectionRange(cursor, cursor));
  };
  const submit = (): void => {
    if (text.trim() !== '') save(text.trim(), listMentions(text, members));
  };
  const handleKeyDown = (event: KeyboardEvent): void => {
    const member = proposed[active];
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
    else if (member && (event.key === 'Enter' || event.key === 'Tab')) pick(member);
    else if (member && event.key === 'ArrowDown') setActive((active + 1) % proposed.length);
    else if (member && event.key === 'ArrowUp') setActive((active + proposed.length - 1) % proposed.length);
    else if (event.key === 'Escape' && member) setDismissed(true);
    else if (event.key === 'Escape') cancel();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className={classes.form}>
      <Textarea
        ref={field}
        label={t.text}
        value={text}
        autosize
        minRows={2}
        maxRows={12}
        autoFocus
        dir="auto"
        aria-controls={proposed.length > 0 ? listId : undefined}
        aria-activedescendant={proposed.length > 0 ? `${listId}-${active}` : undefined}
        onChange={({ currentTarget }) => change(currentTarget.value, currentTarget.selectionStart)}
        onSelect={({ currentTarget }) => setPosition(currentTarget.selectionStart)}
        onKeyDown={handleKeyDown}
      />
      {proposed.length > 0 && (
        <div id={listId} role="listbox" aria-label={t.mentions} className={classes.members}>
          {proposed.map((member, index) => (
            <button
              key={member.id}
              id={`${listId}-${index}`}
              type="button"
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => pick(member)}
            >
              {member.name}
            </button>
          ))}
        </div>
      )}
      <p className={classes.hint}>{t.hint}</p>
      <div className={classes.buttons}>
        <Button size="compact-md" onClick={submit} disabled={text.trim() === ''}>
          {saveLabel}
        </Button>
        <Button size="compact-md" variant="default" onClick={cancel}>
          {t.cancel}
        </Button>
      </div>
    </div>
  );
}
