import { Badge, Button, UnstyledButton } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { Avatar } from '../avatar.tsx';
import { InvitationCard } from '../calendar/invitation-card.tsx';
import type { Email, MailAddress } from '../mail-types.ts';
import { getName } from '../people.ts';
import { formatFullTime, formatShortTime } from '../times.ts';
import { AttachmentList } from './attachment-list.tsx';
import { Authenticity } from './authenticity.tsx';
import { DeliveryState } from './delivery.tsx';
import { MailFrame } from './mail-frame.tsx';
import { stripBrackets } from './mail-images.ts';
import { MailWarnings } from './mail-warnings.tsx';
import classes from './message.module.css';
import { MessageMenu } from './message-menu.tsx';
import { splitLinks, splitQuotation } from './plain-text.ts';

interface MessageProps {
  readonly email: Email;
  /** The id of its conversation. */
  readonly conversation: number;
  readonly opened: boolean;
  readonly toggle: () => void;
  /** Null if the role may not set stars. */
  readonly star: (() => void) | null;
  /** Whether the role may cancel and repeat sending. */
  readonly canDecideDelivery: boolean;
  /** Only for drafts. */
  readonly continueDraft?: () => void;
}

/** One e-mail of a conversation, collapsed to one line or expanded. */
export function Message({
  email,
  conversation,
  opened,
  toggle,
  star,
  canDecideDelivery,
  continueDraft,
}: MessageProps): ReactNode {
  const t = useInboxTexts();
  const sender = email.from?.[0];
  return (
    <article
      className={classes.message}
      data-opened={opened || undefined}
      data-unread={!email.read || undefined}
      aria-label={t.messageFrom(getName(sender) || t.nobody)}
    >
      <header className={classes.head}>
        <UnstyledButton className={classes.toggle} onClick={toggle} aria-expanded={opened}>
          <Avatar name={getName(sender)} />
          <span className={classes.who}>
            <span className={classes.line}>
              <span className={classes.name} dir="auto">
                {getName(sender) || t.nobody}
              </span>
              {opened && sender?.name && <span className={classes.address}>{sender.address}</span>}
              {email.draft && (
                <Badge size="xs" variant="light" color="yellow" className={classes.mark}>
                  {t.draft}
                </Badge>
              )}
            </span>
            <span className={classes.second} dir="auto">
              {opened ? formatReceivers(email, t.to) : email.snippet}
            </span>
          </span>
        </UnstyledButton>
        <time
          className={classes.time}
          dateTime={email.receivedAt ?? undefined}
          title={formatFullTime(email.receivedAt)}
        >
          {formatShortTime(email.receivedAt)}
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
        {opened && <MessageMenu email={email} mayChange={star !== null} />}
      </header>
      {opened && (
        <div className={classes.body}>
          <DeliveryState email={email} canDecide={canDecideDelivery} />
          {email.authentication && !email.outgoing && <Authenticity authentication={email.authentication} />}
          <MailWarnings email={email} />
          <InvitationCard email={email} conversation={conversation} mayAnswer={canDecideDelivery} />
          {email.html ? (
            <MailFrame email={email.id} html={email.html} attachments={email.attachments ?? noFiles} />
          ) : (
            <PlainText text={email.text ?? ''} />
          )}
          <AttachmentList attachments={listVisibleAttachments(email)} />
          {continueDraft && (
            <Button mt="sm" variant="default" onClick={continueDraft} leftSection={<Icon name="edit" />}>
              {t.compose.continueDraft}
            </Button>
          )}
        </div>
      )}
    </article>
  );
}

const noFiles: readonly [] = [];

/** The attachments without the images that the HTML shows inline. */
function listVisibleAttachments({ html, attachments = noFiles }: Email): Email['attachments'] & object {
  const inlineIds = new Set([...(html ?? '').matchAll(/\sdata-cid="([^"]*)"/g)].map(([, contentId]) => contentId));
  return attachments.filter(({ contentId, disposition }) => {
    const inText = contentId !== null && inlineIds.has(stripBrackets(contentId));
    return !inText || disposition === 'attachment';
  });
}

function formatReceivers({ to, cc }: Email, format: (names: string) => string): string {
  return format([...(to ?? []), ...(cc ?? [])].map((each: MailAddress) => getName(each)).join(', '));
}

function PlainText({ text }: { text: string }): ReactNode {
  const t = useInboxTexts();
  const [unfolded, setUnfolded] = useState(false);
  const { body, quoted } = splitQuotation(text);
  return (
    <div className={classes.text} dir="auto">
      <Linked text={body} />
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
            <div className={classes.quoted} dir="auto">
              <Linked text={quoted} />
            </div>
          )}
        </>
      )}
    </div>
  );
}

function Linked({ text }: { text: string }): ReactNode {
  return splitLinks(text).map(({ start, text: part, link }) =>
    link ? (
      <a key={start} href={part} target="_blank" rel="noopener noreferrer">
        {part}
      </a>
    ) : (
      part
    ),
  );
}
