import { Button, Select, TextInput } from '@mantine/core';
import { type ReactNode, useMemo, useState } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import type { Account } from '../mail-types.ts';
import classes from './composer.module.css';
import type { DraftContent } from './draft-content.ts';
import type { DraftSession } from './draft-session.ts';
import type { DraftOrigin } from './draft-state.ts';
import { RecipientsInput } from './recipients-input.tsx';
import { listSenders } from './senders.ts';

interface MessageFieldsProps {
  readonly session: DraftSession;
  readonly content: DraftContent;
  readonly kind: DraftOrigin['kind'];
  readonly accounts: readonly Account[];
  readonly accountId: number | null;
}

/** The inputs above the text: sender, recipients and subject. */
export function MessageFields({ session, content, kind, accounts, accountId }: MessageFieldsProps): ReactNode {
  const t = useInboxTexts().compose;
  const [copies, setCopies] = useState(false);
  const showsCopies = copies || content.cc.length > 0 || content.bcc.length > 0;
  const recipients = (name: 'to' | 'cc' | 'bcc') => ({
    label: t[name],
    value: content[name],
    change: (value: readonly string[]) => session.write({ [name]: value }),
  });
  return (
    <>
      <SenderSelect {...{ session, content, kind, accounts, accountId }} />
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
    </>
  );
}

/** The sender, if there is a choice. A reply stays in the account of the message that it answers. */
function SenderSelect({ session, content, kind, accounts, accountId }: MessageFieldsProps): ReactNode {
  const t = useInboxTexts().compose;
  const all = useMemo(() => listSenders(accounts), [accounts]);
  const senders = kind === 'new' ? all : all.filter((each) => each.accountId === accountId);
  if (senders.length < 2) return null;
  const toKey = (account: number, address: string): string => `${account} ${address}`;
  const current =
    senders.find((each) => each.accountId === accountId && each.address === content.from) ??
    senders.find((each) => each.accountId === accountId);
  return (
    <Select
      className={classes.field}
      label={t.from}
      data={senders.map((each) => ({ value: toKey(each.accountId, each.address), label: each.label }))}
      value={current ? toKey(current.accountId, current.address) : null}
      onChange={(key) => {
        const chosen = senders.find((each) => toKey(each.accountId, each.address) === key);
        if (chosen) void session.changeSender(chosen);
      }}
      allowDeselect={false}
    />
  );
}
