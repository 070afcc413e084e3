import { Button, Code, Group, Modal, Select, SimpleGrid, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Collection } from '@tablinum/client';
import type { ReactNode } from 'react';
import { getTitle } from '../../data/field-names.ts';
import { useSchema } from '../../data/schema.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import type { DraftFieldsProps } from './campaign-form.tsx';
import type { FilterEditorComponent } from './campaign-page.tsx';

/** Types of fields that can contain an address. */
const addressTypes: ReadonlySet<string> = new Set(['string', 'text', 'email']);
/** Types of fields without a text that could be filled in. */
const hiddenTypes: ReadonlySet<string> = new Set(['password', 'json', 'file', 'files']);
const maxShownFields = 12;

/** Who gets the campaign: a collection, a filter, and the field with the address. */
export function AudienceFields({
  draft: { audience },
  change,
  problems,
  filterEditor: FilterEditor,
}: DraftFieldsProps & { readonly filterEditor: FilterEditorComponent }): ReactNode {
  const t = useInboxTexts().campaigns.fields;
  const { data: schema } = useSchema();
  const [isOpen, dialog] = useDisclosure(false);
  const collection = schema?.byName.get(audience.collection);
  const set = (part: Partial<typeof audience>): void => change({ audience: { ...audience, ...part } });
  return (
    <Stack gap="xs">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Select
          label={t.collection}
          data={(schema?.collections ?? []).map((each) => ({ value: each.name, label: getTitle(each) }))}
          value={audience.collection || null}
          onChange={(name) =>
            name && set({ collection: name, filter: null, field: guessField(schema?.byName.get(name)) })
          }
          error={problems['audience.collection']}
          allowDeselect={false}
          searchable
          required
        />
        <Select
          label={t.field}
          data={listAddressFields(collection)}
          value={audience.field || null}
          onChange={(field) => field && set({ field })}
          error={problems['audience.field']}
          disabled={!collection}
          allowDeselect={false}
          required
        />
      </SimpleGrid>
      <Group gap="xs" align="center">
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<Icon name="filter" />}
          onClick={dialog.open}
          disabled={!collection}
        >
          {t.editFilter}
        </Button>
        {audience.filter ? (
          <Code style={{ overflowWrap: 'anywhere' }}>{JSON.stringify(audience.filter)}</Code>
        ) : (
          <Text size="sm" c="dimmed">
            {t.allRecords}
          </Text>
        )}
      </Group>
      {problems['audience.filter'] && (
        <Text size="sm" c="red">
          {problems['audience.filter']}
        </Text>
      )}
      {collection && (
        <Text size="sm" c="dimmed">
          {t.variables(listVariables(collection))}
        </Text>
      )}
      <Modal opened={isOpen} onClose={dialog.close} title={t.filterTitle} size="xl">
        {collection && (
          <FilterEditor
            collection={collection}
            filter={audience.filter ?? undefined}
            apply={(filter) => {
              set({ filter: filter ?? null });
              dialog.close();
            }}
          />
        )}
      </Modal>
    </Stack>
  );
}

function listAddressFields(collection: Collection | undefined): { value: string; label: string }[] {
  return (collection?.fields ?? [])
    .filter(({ type }) => addressTypes.has(type))
    .map((field) => ({ value: field.name, label: getTitle(field) }));
}

/** The first field whose name says that it contains an address. */
function guessField(collection: Collection | undefined): string {
  return listAddressFields(collection).find(({ value }) => /e?-?mail|address/i.test(value))?.value ?? '';
}

function listVariables({ fields }: Collection): string {
  const names = fields.filter(({ type, target }) => !target && !hiddenTypes.has(type)).map(({ name }) => name);
  const shown = names.slice(0, maxShownFields).map((name) => `{{${name}}}`);
  return `${shown.join(', ')}${names.length > maxShownFields ? ', …' : ''}`;
}
