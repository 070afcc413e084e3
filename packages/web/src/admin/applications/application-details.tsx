import { Button, Group, JsonInput, Stack, Switch } from '@mantine/core';
import type { Application } from '@tablinum/client';
import { type FormEvent, type ReactNode, useState } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { Section } from '../../data/section.tsx';
import { detailsOf, orNull, useWrite } from '../../data/use-write.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { TitleFields } from '../access/title-fields.tsx';
import { mainName } from './application-parts.tsx';

/** What people call an application, and how it is run. */
export function ApplicationDetails({ application }: { application: Application }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const words = access.applications;
  const { name, displayName, description, options } = application;
  const [values, setValues] = useState({
    displayName: displayName ?? '',
    description: description ?? '',
    autoStart: options['autoStart'] === true,
    metadata: JSON.stringify(options['metadata'] ?? {}, null, 2),
  });
  const metadata = objectOf(values.metadata);
  const save = useWrite({
    write: (client) =>
      client.records('applications').update(name, {
        displayName: orNull(values.displayName),
        description: orNull(values.description),
        ...(name !== mainName && { options: { ...options, autoStart: values.autoStart, metadata: metadata ?? {} } }),
      }),
    changes: ['applications', 'check'],
    done: () => toast(access.saved),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (metadata !== null) save.mutate();
  };
  return (
    <Section title={words.details} needs={{ resource: 'applications', action: 'update' }}>
      <form onSubmit={submit}>
        <Stack gap="sm" maw={520}>
          <TitleFields
            label={words.displayName}
            title={values.displayName}
            description={values.description}
            problem={detailsOf(save.error)['displayName']}
            changeTitle={(displayName) => setValues({ ...values, displayName })}
            changeDescription={(description) => setValues({ ...values, description })}
          />
          {name !== mainName && (
            <Switch
              label={words.autoStart}
              description={words.autoStartHint}
              checked={values.autoStart}
              onChange={(event) => setValues({ ...values, autoStart: event.currentTarget.checked })}
            />
          )}
          {name !== mainName && (
            <JsonInput
              label={words.metadata}
              description={words.metadataHint}
              value={values.metadata}
              onChange={(next) => setValues({ ...values, metadata: next })}
              error={metadata === null ? words.metadataWrong : detailsOf(save.error)['options.metadata']}
              autosize
              minRows={2}
              formatOnBlur
            />
          )}
          <FormProblem error={save.error} />
          <Group>
            <Button type="submit" variant="default" loading={save.isPending}>
              {t.common.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

/** The object that a text says, or null. */
function objectOf(text: string): object | null {
  try {
    const read: unknown = JSON.parse(text.trim() || '{}');
    return typeof read === 'object' && !Array.isArray(read) ? read : null;
  } catch {
    return null;
  }
}
