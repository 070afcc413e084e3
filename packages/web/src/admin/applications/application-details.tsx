import { Button, Group, JsonInput, Stack, Switch } from '@mantine/core';
import type { Application } from '@tablinum/client';
import { type FormEvent, type ReactNode, useState } from 'react';
import { FormProblem } from '../../data/problem.tsx';
import { Section } from '../../data/section.tsx';
import { emptyToNull, getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useAccessTexts } from '../../ui/i18n/access-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { TitleFields } from '../access/title-fields.tsx';
import { mainApplicationName } from './application-parts.tsx';

/** The title, description and start settings of an application. */
export function ApplicationDetails({ application }: { application: Application }): ReactNode {
  const t = useTexts();
  const access = useAccessTexts();
  const labels = access.applications;
  const { name, displayName, description, options } = application;
  const [values, setValues] = useState({
    displayName: displayName ?? '',
    description: description ?? '',
    autoStart: options['autoStart'] === true,
    metadata: JSON.stringify(options['metadata'] ?? {}, null, 2),
  });
  const metadata = parseObject(values.metadata);
  const save = useApiMutation({
    write: (client) =>
      client.records('applications').update(name, {
        displayName: emptyToNull(values.displayName),
        description: emptyToNull(values.description),
        ...(name !== mainApplicationName && {
          options: { ...options, autoStart: values.autoStart, metadata: metadata ?? {} },
        }),
      }),
    changes: ['applications', 'check'],
    done: () => toast(access.saved),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (metadata !== null) save.mutate();
  };
  return (
    <Section title={labels.details} needs={{ resource: 'applications', action: 'update' }}>
      <form onSubmit={submit}>
        <Stack gap="sm" maw={520}>
          <TitleFields
            label={labels.displayName}
            title={values.displayName}
            description={values.description}
            problem={getErrorDetails(save.error)['displayName']}
            changeTitle={(displayName) => setValues({ ...values, displayName })}
            changeDescription={(description) => setValues({ ...values, description })}
          />
          {name !== mainApplicationName && (
            <Switch
              label={labels.autoStart}
              description={labels.autoStartHint}
              checked={values.autoStart}
              onChange={(event) => setValues({ ...values, autoStart: event.currentTarget.checked })}
            />
          )}
          {name !== mainApplicationName && (
            <JsonInput
              label={labels.metadata}
              description={labels.metadataHint}
              value={values.metadata}
              onChange={(next) => setValues({ ...values, metadata: next })}
              error={metadata === null ? labels.metadataWrong : getErrorDetails(save.error)['options.metadata']}
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

/** Parses a JSON object; null if the text is not one. */
function parseObject(text: string): object | null {
  try {
    const parsed: unknown = JSON.parse(text.trim() || '{}');
    return typeof parsed === 'object' && !Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}
