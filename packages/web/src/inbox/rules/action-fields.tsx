import { Group, Select, Stack, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { type InboxTexts, useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { IconButton } from '../../ui/icon-button.tsx';
import { type AccountRecord, getMemberName, useMembers } from '../accounts/account-data.ts';
import { getFolderKey } from '../folders/folder-key.ts';
import { sortFolders } from '../folders/folder-pane.tsx';
import { ReplyText } from './reply-text.tsx';
import { type ActionType, actionTypes, createAction, type RuleAction } from './rule-types.ts';

interface ActionFieldsProps {
  readonly account: AccountRecord;
  readonly action: RuleAction;
  readonly index: number;
  readonly change: (action: RuleAction) => void;
  /** Null for the only action. */
  readonly remove: (() => void) | null;
  /** Error messages by path in the request body, such as `actions.0.mailbox`. */
  readonly problems: Readonly<Record<string, string>>;
}

/** One action of a rule, with what it needs. */
export function ActionFields(props: ActionFieldsProps): ReactNode {
  const t = useInboxTexts().rules;
  const { action, index, change, remove, problems } = props;
  return (
    <Stack gap="xs">
      <Group gap="xs" align="flex-start">
        <Select
          aria-label={t.actionPart(index + 1, t.action)}
          data={actionTypes.map((value) => ({ value, label: t.actions[value] }))}
          value={action.type}
          onChange={(type) => type && change(createAction(type as ActionType))}
          allowDeselect={false}
          w={230}
          error={problems[`actions.${index}.type`] ?? problems[`actions.${index}`]}
        />
        <ActionValue {...props} />
        {remove && <IconButton icon="x" label={t.removeAction(index + 1)} onClick={remove} />}
      </Group>
      {action.type === 'reply' && <ReplyFields {...props} />}
      {action.type === 'webhook' && (
        <Text size="sm" c="dimmed">
          {t.webhookHint}
        </Text>
      )}
    </Stack>
  );
}

function ActionValue({ account, action, index, change, problems }: ActionFieldsProps): ReactNode {
  const t = useInboxTexts().rules;
  if (action.type === 'move')
    return (
      <FolderSelect
        account={account}
        label={t.actionPart(index + 1, t.folder)}
        value={String(action.mailbox ?? '')}
        change={(mailbox) => change({ ...action, mailbox })}
        error={problems[`actions.${index}.mailbox`]}
      />
    );
  if (action.type === 'addLabel' || action.type === 'removeLabel')
    return (
      <TextInput
        aria-label={t.actionPart(index + 1, t.label)}
        value={action.label ?? ''}
        onChange={(event) => change({ ...action, label: event.currentTarget.value })}
        maxLength={200}
        error={problems[`actions.${index}.label`]}
        style={{ flex: '1 1 200px' }}
      />
    );
  if (action.type === 'assign')
    return (
      <MemberSelect
        account={account.id}
        label={t.actionPart(index + 1, t.member)}
        value={action.userId ?? null}
        change={(userId) => change({ ...action, userId })}
        error={problems[`actions.${index}.userId`]}
      />
    );
  return null;
}

interface FolderSelectProps {
  readonly account: AccountRecord;
  readonly label: string;
  readonly value: string;
  readonly change: (mailbox: number | string) => void;
  readonly error: string | undefined;
}

function FolderSelect({ account, label, value, change, error }: FolderSelectProps): ReactNode {
  const texts = useInboxTexts();
  return (
    <Select
      aria-label={label}
      data={listFolderChoices(account, texts)}
      value={value}
      onChange={(chosen) => chosen && change(/^\d+$/.test(chosen) ? Number(chosen) : chosen)}
      allowDeselect={false}
      style={{ flex: '1 1 200px' }}
      error={error}
    />
  );
}

const roles = ['inbox', 'archive', 'junk', 'trash'] as const;

/** Folders by their ids; roles without a folder by their names, because the folder is created when it is needed. */
function listFolderChoices({ mailboxes }: AccountRecord, texts: InboxTexts): { value: string; label: string }[] {
  const missing = roles.filter((role) => mailboxes.every((each) => each.role !== role));
  const existing = sortFolders(mailboxes).filter(
    ({ role }) => !['sent', 'drafts', 'outbox', 'all'].includes(role ?? ''),
  );
  return [
    ...existing.map((mailbox) => ({
      value: roles.find((role) => role === mailbox.role) ?? String(mailbox.id),
      label: texts.folderName(getFolderKey(mailbox)),
    })),
    ...missing.map((role) => ({ value: role, label: texts.folderName(role) })),
  ];
}

interface MemberSelectProps {
  readonly account: number;
  readonly label: string;
  readonly value: number | null;
  readonly change: (user: number) => void;
  readonly error: string | undefined;
}

function MemberSelect({ account, label, value, change, error }: MemberSelectProps): ReactNode {
  const t = useInboxTexts().rules;
  const members = useMembers(account);
  return (
    <Select
      aria-label={label}
      data={(members.data ?? []).map((each) => ({ value: String(each.id), label: getMemberName(each) }))}
      value={value === null ? null : String(value)}
      onChange={(chosen) => chosen && change(Number(chosen))}
      allowDeselect={false}
      placeholder={members.error ? t.membersHidden : t.chooseMember}
      style={{ flex: '1 1 200px' }}
      error={error}
    />
  );
}

function ReplyFields({ action, index, change, problems }: ActionFieldsProps): ReactNode {
  const t = useInboxTexts().rules;
  return (
    <Stack gap="xs" pl="md">
      <TextInput
        label={t.replySubject}
        placeholder={t.replySubjectExample}
        value={action.subject ?? ''}
        onChange={(event) => change({ ...action, subject: event.currentTarget.value })}
        maxLength={500}
        error={problems[`actions.${index}.subject`]}
      />
      <ReplyText
        label={t.replyText}
        description={t.replyHint}
        reply={action}
        change={(part) => change({ ...action, ...part })}
        error={problems[`actions.${index}.text`]}
      />
    </Stack>
  );
}
