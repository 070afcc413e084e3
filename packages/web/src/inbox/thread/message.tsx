import { Badge, Button, Text, UnstyledButton } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { Face } from '../face.tsx';
import type { Email, MailAddress } from '../mail.ts';
import { nameOf } from '../people.ts';
import { fullTime, shortTime } from '../times.ts';
import { AttachmentList } from './attachment-list.tsx';
import { MailFrame } from './mail-frame.tsx';
import { bare } from './mail-images.ts';
import classes from './message.module.css';
import { parted, pieces } from './plain-text.ts';

interface MessageProps {
  readonly email: Email;
  readonly opened: boolean;
  readonly toggle: () => void;
  /** Null where the role sets no stars. */
  readonly star: (() => void) | null;
  /** Of a draft. */
  readonly writeOn?: () => void;
}

/** One e-mail of a conversation: a line while it is folded, all of it otherwise. */
export function Message({ email, opened, toggle, star, writeOn }: MessageProps): ReactNode {
  const t = useInboxTexts();
  const sender = email.from?.[0];
  return (
    <article
      className={classes.message}
      data-opened={opened || undefined}
      data-unread={!email.read || undefined}
      aria-label={t.messageFrom(nameOf(sender) || t.nobody)}
    >
      <header className={classes.head}>
        <UnstyledButton className={classes.toggle} onClick={toggle} aria-expanded={opened}>
          <Face name={nameOf(sender)} />
          <span className={classes.who}>
            <span className={classes.line}>
              <span className={classes.name}>{nameOf(sender) || t.nobody}</span>
              {opened && sender?.name && <span className={classes.address}>{sender.address}</span>}
              {email.draft && (
                <Badge size="xs" variant="light" color="yellow">
                  {t.draft}
                </Badge>
              )}
            </span>
            <span className={classes.second}>{opened ? receivers(email, t.to) : email.snippet}</span>
          </span>
        </UnstyledButton>
        <time className={classes.time} dateTime={email.receivedAt ?? undefined} title={fullTime(email.receivedAt)}>
          {shortTime(email.receivedAt)}
        </time>
        {star ? (
          <IconButton
            icon="star"
            size="md"
            label={email.starred ? t.unstar : t.star}
            pressed={email.starred}
            className={classes.star}
            onClick={star}
          />
        ) : (
          email.starred && (
            <span className={classes.star} role="img" aria-label={t.starred} data-set>
              <Icon name="star" size={18} />
            </span>
          )
        )}
      </header>
      {opened && (
        <div className={classes.body}>
          {email.folder === 'outbox' && (
            <Text size="sm" c="dimmed" role="status">
              {t.queued}
            </Text>
          )}
          <Warnings warnings={email.warnings ?? []} bodyState={email.bodyState} />
          {email.html ? (
            <MailFrame email={email.id} html={email.html} attachments={email.attachments ?? noFiles} />
          ) : (
            <PlainText text={email.text ?? ''} />
          )}
          <AttachmentList attachments={listedOf(email)} />
          {writeOn && (
            <Button mt="sm" variant="default" onClick={writeOn} leftSection={<Icon name="edit" />}>
              {t.compose.goOn}
            </Button>
          )}
        </div>
      )}
    </article>
  );
}

const noFiles: readonly [] = [];

/** Files, without the images that the HTML shows in their place. */
function listedOf({ html, attachments = noFiles }: Email): Email['attachments'] & object {
  const shown = new Set([...(html ?? '').matchAll(/\sdata-cid="([^"]*)"/g)].map((match) => match[1]!));
  return attachments.filter(({ contentId, disposition }) => {
    const inText = contentId !== null && shown.has(bare(contentId)!);
    return !inText || disposition === 'attachment';
  });
}

function receivers({ to, cc }: Email, said: (names: string) => string): string {
  return said([...(to ?? []), ...(cc ?? [])].map((each: MailAddress) => nameOf(each)).join(', '));
}

function Warnings({ warnings, bodyState }: { warnings: readonly string[]; bodyState: string | null }): ReactNode {
  const t = useInboxTexts();
  const known: Readonly<Record<string, string>> = t.warnings;
  const bodies: Readonly<Record<string, string>> = t.bodyStates;
  const said = [...warnings.map((each) => known[each]), bodies[bodyState ?? '']].filter((each) => each !== undefined);
  if (said.length === 0) return null;
  return (
    <ul className={classes.warnings}>
      {said.map((each) => (
        <li key={each}>
          <Icon name="warning" size={14} />
          <span>{each}</span>
        </li>
      ))}
    </ul>
  );
}

function PlainText({ text }: { text: string }): ReactNode {
  const t = useInboxTexts();
  const [unfolded, setUnfolded] = useState(false);
  const { said, quoted } = parted(text);
  return (
    <div className={classes.text}>
      <Linked text={said} />
      {quoted !== null && (
        <>
          <UnstyledButton
            className={classes.fold}
            aria-expanded={unfolded}
            aria-label={t.quotation}
            onClick={() => setUnfolded(!unfolded)}
          >
            •••
          </UnstyledButton>
          {unfolded && (
            <div className={classes.quoted}>
              <Linked text={quoted} />
            </div>
          )}
        </>
      )}
    </div>
  );
}

function Linked({ text }: { text: string }): ReactNode {
  return pieces(text).map(({ at, text: part, link }) =>
    link ? (
      <a key={at} href={part} target="_blank" rel="noopener noreferrer">
        {part}
      </a>
    ) : (
      part
    ),
  );
}
