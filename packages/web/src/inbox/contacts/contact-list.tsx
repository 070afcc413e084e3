import { Badge, Checkbox, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { QueryBoundary } from '../../data/problem.tsx';
import { useMay } from '../../data/schema.ts';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { type ListColumn, ListTable } from '../../ui/list-table.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Empty } from '../../ui/states.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type Contact, type ContactGroup, contactKeys, useContacts } from './contact-data.ts';

interface ContactListProps {
  readonly groups: readonly ContactGroup[];
  /** Only the contacts of this group; null: all. */
  readonly group: number | null;
  readonly setGroup: (group: number | null) => void;
  readonly edit: (contact: Contact) => void;
  readonly writeTo: (contact: Contact) => void;
  /** The contacts that are chosen to be merged, by key; null if the role may not merge contacts. */
  readonly selection: ContactSelection | null;
}

export interface ContactSelection {
  readonly contacts: ReadonlyMap<number, Contact>;
  readonly toggle: (contact: Contact) => void;
}

/** The contacts by name, with a search. */
export function ContactList({ groups, group, setGroup, edit, writeTo, selection }: ContactListProps): ReactNode {
  const t = useInboxTexts().contacts;
  const [text, setText] = useState('');
  const [debouncedText] = useDebouncedValue(text.trim(), 200);
  const [shown, setShown] = useState({ page: 1, of: '' });
  const view = `${debouncedText} ${group}`;
  const page = shown.of === view ? shown.page : 1;
  const contacts = useContacts({ text: debouncedText, group, page });
  const isFiltered = debouncedText !== '' || group !== null;
  return (
    <Stack>
      <Group gap="sm">
        <TextInput
          aria-label={t.search}
          placeholder={t.search}
          leftSection={<Icon name="search" />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          type="search"
          maxLength={200}
          flex="1 1 16rem"
          maw="28rem"
        />
        {groups.length > 0 && (
          <Select
            aria-label={t.group}
            placeholder={t.allGroups}
            data={groups.map(({ id, name }) => ({ value: String(id), label: name }))}
            value={group === null ? null : String(group)}
            onChange={(id) => setGroup(id === null ? null : Number(id))}
            clearable
            searchable
          />
        )}
      </Group>
      <QueryBoundary query={contacts} permission={{ resource: 'contacts', action: 'list' }}>
        {({ data, meta }) =>
          data.length === 0 ? (
            isFiltered ? (
              <Text c="dimmed">{t.noMatch}</Text>
            ) : (
              <Empty icon="users" title={t.none} text={t.noneText} />
            )
          ) : (
            <>
              <ContactTable contacts={data} edit={edit} writeTo={writeTo} selection={selection} />
              <Pager
                page={page}
                totalPage={meta.totalPage ?? 1}
                count={meta.count ?? data.length}
                go={(next) => setShown({ page: next, of: view })}
              />
            </>
          )
        }
      </QueryBoundary>
    </Stack>
  );
}

interface ContactTableProps extends Pick<ContactListProps, 'edit' | 'writeTo' | 'selection'> {
  readonly contacts: readonly Contact[];
}

function ContactTable({ contacts, edit, writeTo, selection }: ContactTableProps): ReactNode {
  const t = useInboxTexts().contacts;
  const may = useMay();
  const destroy = useActionMutation<unknown, number>({
    write: (client, id) => client.records('contacts').destroy({ filterByTk: [id] }),
    changes: contactKeys,
    done: () => toast(t.deleted),
  });
  const remove = async (contact: Contact): Promise<void> => {
    const title = t.deleteTitle(getContactName(contact));
    if (await confirm({ title, text: t.deleteText, confirmLabel: t.delete, danger: true })) await destroy(contact.id);
  };
  return (
    <ListTable<Contact>
      label={t.list}
      rows={contacts}
      keyOf={({ id }) => id}
      columns={[
        ...(selection ? [createSelectColumn(selection, t.merging)] : []),
        {
          title: t.fields.name,
          render: ({ name, address, automatic, otherAddresses }) => (
            <Stack gap={0}>
              <Group gap="xs">
                {name !== '' && (
                  <Text fw={500} dir="auto">
                    {name}
                  </Text>
                )}
                {automatic && (
                  <Badge variant="default" size="sm">
                    {t.automatic}
                  </Badge>
                )}
              </Group>
              <LongText isAddress>{address}</LongText>
              {(otherAddresses ?? []).map((each) => (
                <LongText key={each} isAddress>
                  {each}
                </LongText>
              ))}
            </Stack>
          ),
        },
        { title: t.fields.company, render: ({ company }) => company && <LongText width={200}>{company}</LongText> },
        { title: t.fields.phone, render: ({ phone }) => phone && <LongText width={160}>{phone}</LongText> },
        {
          title: t.fields.groups,
          render: ({ groups }) => (
            <Group gap={4}>
              {groups.map(({ id, name }) => (
                <Badge key={id} variant="light" size="sm" tt="none">
                  {name}
                </Badge>
              ))}
            </Group>
          ),
        },
        {
          title: '',
          width: 130,
          render: (contact) => {
            const name = getContactName(contact);
            return (
              <Group gap={4} wrap="nowrap" justify="flex-end">
                {may('emails', 'saveDraft') && (
                  <IconButton icon="mail" label={t.writeTo(name)} onClick={() => writeTo(contact)} />
                )}
                {may('contacts', 'update') && (
                  <IconButton icon="edit" label={t.editNamed(name)} onClick={() => edit(contact)} />
                )}
                {may('contacts', 'destroy') && (
                  <IconButton icon="trash" label={t.deleteNamed(name)} onClick={() => void remove(contact)} />
                )}
              </Group>
            );
          },
        },
      ]}
    />
  );
}

/** Chooses contacts to merge. */
function createSelectColumn(
  { contacts, toggle }: ContactSelection,
  t: { readonly select: string; readonly selectNamed: (name: string) => string },
): ListColumn<Contact> {
  return {
    title: t.select,
    width: 60,
    render: (contact) => (
      <Checkbox
        aria-label={t.selectNamed(getContactName(contact))}
        checked={contacts.has(contact.id)}
        onChange={() => toggle(contact)}
      />
    ),
  };
}

function getContactName({ name, address }: Contact): string {
  return name || address;
}
