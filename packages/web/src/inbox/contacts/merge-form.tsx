import { Radio, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { DialogForm } from '../../data/dialog-form.tsx';
import { useApiMutation } from '../../data/use-api-mutation.ts';
import { DescriptionList } from '../../ui/description-list.tsx';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { LongText } from '../../ui/long-text.tsx';
import { toast } from '../../ui/toasts.tsx';
import { type Contact, contactKeys } from './contact-data.ts';
import { previewMerge } from './merge-preview.ts';

interface MergeFormProps {
  /** Two or more, of one account. */
  readonly contacts: readonly Contact[];
  readonly done: (isMerged: boolean) => void;
}

/** Merges contacts: shows what results from the one that is chosen to stay. */
export function MergeForm({ contacts, done }: MergeFormProps): ReactNode {
  const { merging: t, fields } = useInboxTexts().contacts;
  const [id, setId] = useState((contacts.find(({ automatic }) => !automatic) ?? contacts[0])?.id);
  const kept = contacts.find((each) => each.id === id);
  const others = contacts.filter((each) => each !== kept);
  const merge = useApiMutation({
    write: (client) => client.contacts.merge({ id: kept?.id ?? 0, others: others.map((each) => each.id) }),
    changes: contactKeys,
    done: () => {
      toast(t.merged);
      done(true);
    },
  });
  if (!kept) return null;
  const { name, addresses, company, phone, notes, groups } = previewMerge(kept, others);
  const long = (text: string | null): ReactNode => (text ? <LongText>{text}</LongText> : '–');
  return (
    <DialogForm write={merge} submitLabel={t.submit} cancel={() => done(false)}>
      <Radio.Group label={t.kept} description={t.keptHint} value={String(id)} onChange={(next) => setId(Number(next))}>
        <Stack gap="xs" mt="xs">
          {contacts.map((each) => (
            <Radio
              key={each.id}
              value={String(each.id)}
              label={each.name || each.address}
              description={each.name ? each.address : undefined}
            />
          ))}
        </Stack>
      </Radio.Group>
      <section aria-label={t.result}>
        <Text fw={500} mb={4}>
          {t.result}
        </Text>
        <DescriptionList
          items={[
            [fields.name, long(name)],
            [t.addresses, addresses.map((each) => <div key={each}>{each}</div>)],
            [fields.company, long(company)],
            [fields.phone, long(phone)],
            [fields.groups, long(groups.join(', '))],
            [
              fields.notes,
              <span key="notes" style={{ whiteSpace: 'pre-wrap' }}>
                {notes ?? '–'}
              </span>,
            ],
          ]}
        />
      </section>
      <Text size="sm">{t.final}</Text>
    </DialogForm>
  );
}
