import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useMay } from '../../data/schema.ts';
import { Section } from '../../data/section.tsx';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { toast } from '../../ui/toasts.tsx';
import type { Account } from '../mail-types.ts';
import { type ContactGroup, contactKeys } from './contact-data.ts';

interface GroupListProps {
  readonly groups: readonly ContactGroup[];
  readonly accounts: readonly Account[];
  /** Null where the user may not create groups. */
  readonly add: (() => void) | null;
  readonly edit: (group: ContactGroup) => void;
  readonly show: (group: ContactGroup) => void;
  readonly writeTo: (group: ContactGroup) => Promise<void>;
}

/** The groups of contacts by name. */
export function GroupList({ groups, accounts, add, edit, show, writeTo }: GroupListProps): ReactNode {
  const t = useInboxTexts().contacts;
  const may = useMay();
  const destroy = useActionMutation<unknown, number>({
    write: (client, id) => client.records('contactGroups').destroy({ filterByTk: [id] }),
    changes: contactKeys,
    done: () => toast(t.groups.deleted),
  });
  const remove = async ({ id, name }: ContactGroup): Promise<void> => {
    const title = t.groups.deleteTitle(name);
    if (await confirm({ title, text: t.groups.deleteText, confirmLabel: t.delete, danger: true })) await destroy(id);
  };
  const action = add && (
    <Button variant="default" leftSection={<Icon name="plus" />} onClick={add}>
      {t.groups.add}
    </Button>
  );
  const findAddress = (id: number): string => accounts.find((each) => each.id === id)?.address ?? '';
  return (
    <Section title={t.groups.title} text={t.groups.noneText} actions={action}>
      {groups.length === 0 ? (
        <Text c="dimmed">{t.groups.none}</Text>
      ) : (
        <ListTable<ContactGroup>
          label={t.groups.list}
          rows={groups}
          keyOf={({ id }) => id}
          columns={[
            { title: t.fields.name, render: ({ name }) => <LongText>{name}</LongText> },
            ...(accounts.length > 1
              ? [
                  {
                    title: t.fields.account,
                    render: ({ accountId }: ContactGroup) => <LongText isAddress>{findAddress(accountId)}</LongText>,
                  },
                ]
              : []),
            {
              title: '',
              width: 170,
              render: (group) => (
                <Group gap={4} wrap="nowrap" justify="flex-end">
                  <IconButton icon="search" label={t.groups.show(group.name)} onClick={() => show(group)} />
                  {may('emails', 'saveDraft') && (
                    <IconButton icon="mail" label={t.groups.writeTo(group.name)} onClick={() => void writeTo(group)} />
                  )}
                  {may('contactGroups', 'update') && (
                    <IconButton icon="edit" label={t.groups.editNamed(group.name)} onClick={() => edit(group)} />
                  )}
                  {may('contactGroups', 'destroy') && (
                    <IconButton
                      icon="trash"
                      label={t.groups.deleteNamed(group.name)}
                      onClick={() => void remove(group)}
                    />
                  )}
                </Group>
              ),
            },
          ]}
        />
      )}
    </Section>
  );
}
