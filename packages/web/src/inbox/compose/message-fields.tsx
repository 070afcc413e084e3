import { Button, Select, Textarea, TextInput } from '@mantine/core';
import { type ReactNode, type Ref, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import type { Account } from '../mail-types.ts';
import classes from './composer.module.css';
import type { DraftContent } from './draft-content.ts';
import type { DraftOrigin, DraftSession } from './draft-session.ts';
import { RecipientsInput } from './recipients-input.tsx';

interface MessageFieldsProps {
  readonly session: DraftSession;
  readonly content: DraftContent;
  readonly kind: DraftOrigin['kind'];
  readonly accounts: readonly Account[];
  readonly accountId: number | null;
  readonly bodyRef: Ref<HTMLTextAreaElement>;
}

/** The inputs of a message: sender, recipients, subject and text. */
export function MessageFields({ session, content, kind, accounts, accountId, bodyRef }: MessageFieldsProps): ReactNode {
  const t = useInboxTexts().compose;
  const [copies, setCopies] = useState(false);
  const showsCopies = copies || content.cc.length > 0 || content.bcc.length > 0;
  const recipients = (name: 'to' | 'cc' | 'bcc') => ({
    label: t[name],
    value: content[name],
    change: (value: readonly string[]) => session.write({ [name]: value }),
    accountId,
  });
  return (
    <>
      {accounts.length > 1 && kind === 'new' && (
        <Select
          className={classes.field}
          label={t.from}
          data={accounts.map(({ id, name, address }) => ({
            value: String(id),
            label: name ? `${name} <${address}>` : address,
          }))}
          value={accountId === null ? null : String(accountId)}
          onChange={(id) => id !== null && void session.changeAccount(Number(id))}
          allowDeselect={false}
        />
      )}
      <div className={classes.line}>
        <div className={classes.grow}>
          <RecipientsInput {...recipients('to')} autoFocus={kind === 'new' || kind === 'forward'} />
        </div>
        {!showsCopies && (
          <Button variant="subtle" color="gray" size="compact-sm" onClick={() => setCopies(true)}>
            {t.addCopies}
          </Button>
        )}
      </div>
      {showsCopies && (
        <>
          <RecipientsInput {...recipients('cc')} autoFocus={copies} />
          <RecipientsInput {...recipients('bcc')} />
        </>
      )}
      <TextInput
        className={classes.field}
        label={t.subject}
        value={content.subject}
        onChange={(event) => session.write({ subject: event.currentTarget.value })}
        maxLength={500}
        autoComplete="off"
      />
      <Textarea
        ref={bodyRef}
        label={t.text}
        value={content.text}
        onChange={(event) => session.write({ text: event.currentTarget.value })}
        autosize
        minRows={7}
        maxRows={22}
        classNames={{ label: 'visually-hidden' }}
      />
    </>
  );
}
