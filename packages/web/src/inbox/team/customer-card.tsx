import { Checkbox, Drawer, Select, Stack, Text, TextInput } from '@mantine/core';
import type { Field } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { getTitle } from '../../data/field-names.ts';
import { getErrorMessage, QueryBoundary } from '../../data/problem.tsx';
import { findKeyField, getRecordLabel } from '../../data/records/label.ts';
import { useSchema } from '../../data/schema.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { TextLink } from '../../ui/links.tsx';
import { toast } from '../../ui/toasts.tsx';
import { invalidateThread } from '../mail-queries.ts';
import type { Thread } from '../mail-types.ts';
import classes from './customer-card.module.css';
import { findCustomerAddress, listOwnFields, useCustomerRecords } from './customer-data.ts';

interface CustomerCardProps {
  readonly thread: Thread;
  readonly opened: boolean;
  readonly close: () => void;
}

/** A side panel: the fields that were added to conversations, and the records about the customer. */
export function CustomerCard({ thread, opened, close }: CustomerCardProps): ReactNode {
  const t = useInboxTexts().team.customer;
  const app = useApplication();
  const found = useCustomerRecords(thread, opened);
  const address = findCustomerAddress(thread);
  return (
    <Drawer opened={opened} onClose={close} position="right" size="22rem" title={t.title}>
      <Stack gap="md">
        {address !== null && <Text fw={600}>{address}</Text>}
        <OwnFields thread={thread} />
        <QueryBoundary query={found} permission={{ resource: 'conversations', action: 'get' }}>
          {(groups) =>
            groups.length === 0 ? (
              <Text c="dimmed">{t.empty}</Text>
            ) : (
              groups.map(({ collection, records }) => (
                <section key={collection.name} className={classes.group}>
                  <h3>{getTitle(collection)}</h3>
                  <ul>
                    {records.map((record) => {
                      const key = String(record[findKeyField(collection).name]);
                      return (
                        <li key={key}>
                          <TextLink
                            to="/a/$app/data/$collection/$key"
                            params={{ app, collection: collection.name, key }}
                          >
                            {getRecordLabel(collection, record)}
                          </TextLink>
                        </li>
                      );
                    })}
                  </ul>
                </section>
              ))
            )
          }
        </QueryBoundary>
      </Stack>
    </Drawer>
  );
}

/** The fields that were added to conversations. A change is saved when its input is left. */
function OwnFields({ thread }: { thread: Thread }): ReactNode {
  const { data: schema } = useSchema();
  const application = useApplication();
  const fields = listOwnFields(schema?.byName.get('conversations'));
  const save = async (name: string, value: unknown): Promise<void> => {
    try {
      await getClient(application)
        .records('conversations')
        .update(thread.id, { [name]: value });
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
    invalidateThread(application, thread.id);
  };
  const values = thread as unknown as Readonly<Record<string, unknown>>;
  return fields.map((field) => (
    <OwnField
      // After a refusal, the input shows the stored value again.
      key={`${field.name} ${JSON.stringify(values[field.name] ?? null)}`}
      field={field}
      value={values[field.name]}
      disabled={schema?.mayWrite('conversations', 'update', field.name) !== true}
      save={(value) => void save(field.name, value)}
    />
  ));
}

interface OwnFieldProps {
  readonly field: Field;
  readonly value: unknown;
  readonly disabled: boolean;
  readonly save: (value: unknown) => void;
}

const numberTypes = new Set(['integer', 'bigInt', 'float', 'double']);

function OwnField({ field, value, disabled, save }: OwnFieldProps): ReactNode {
  const label = getTitle(field);
  const [text, setText] = useState(
    value == null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value),
  );
  if (field.type === 'boolean')
    return (
      <Checkbox
        label={label}
        checked={value === true}
        disabled={disabled}
        onChange={({ currentTarget }) => save(currentTarget.checked)}
      />
    );
  const choices = (field.enum ?? []).map(String);
  if (field.type === 'select' && !field.multiple)
    return <Select label={label} data={choices} value={text || null} disabled={disabled} clearable onChange={save} />;
  const isStructured = field.type === 'json' || field.type === 'array' || field.type === 'select';
  return (
    <TextInput
      label={label}
      value={text}
      dir="auto"
      disabled={disabled || isStructured}
      type={field.type === 'date' ? 'date' : 'text'}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onBlur={() => {
        if (text === (value == null ? '' : String(value))) return;
        save(text === '' ? null : numberTypes.has(field.type) ? Number(text) : text);
      }}
    />
  );
}
