import { Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { useMay } from '../../data/schema.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import type { InboxView } from '../inbox-search.ts';
import { isSameView, useSavedSearches, useSaveSearch } from './saved-searches.ts';

const maxName = 120;

/** A button that saves the shown search or filter under a name; nothing if it is saved already or is a plain folder. */
export function SaveSearch({ view }: { view: InboxView }): ReactNode {
  const t = useInboxTexts().search;
  const may = useMay();
  const saved = useSavedSearches();
  const [opened, dialog] = useDisclosure(false);
  const isFiltered = view.q !== undefined || view.unread || view.starred || view.label !== undefined;
  if (!isFiltered || !may('mailSavedSearches', 'create') || saved.some((each) => isSameView(each.view, view)))
    return null;
  return (
    <>
      <Button
        m="0.25rem 0.5rem"
        style={{ alignSelf: 'flex-start' }}
        size="compact-xs"
        variant="subtle"
        color="gray"
        leftSection={<Icon name="bookmark" size={13} />}
        onClick={dialog.open}
      >
        {t.save}
      </Button>
      <Modal opened={opened} onClose={dialog.close} title={t.saveTitle} size="xs">
        <SearchName view={view} close={dialog.close} />
      </Modal>
    </>
  );
}

function SearchName({ view, close }: { view: InboxView; close: () => void }): ReactNode {
  const t = useInboxTexts().search;
  const [name, setName] = useState((view.q ?? view.label ?? '').slice(0, maxName));
  const save = useSaveSearch();
  const isValid = name.trim() !== '';
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!isValid) return;
        void save({ name: name.trim(), view });
        close();
      }}
    >
      <Stack gap="sm">
        <TextInput
          data-autofocus
          label={t.name}
          value={name}
          maxLength={maxName}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Group justify="flex-end">
          <Button type="submit" disabled={!isValid}>
            {t.saveName}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
