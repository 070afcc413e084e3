import { Group, Stack } from '@mantine/core';
import type { SettingReport } from '@tablinum/client';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { FormProblem, QueryBoundary } from '../../data/problem.tsx';
import { useApiQuery } from '../../data/queries.ts';
import { Section } from '../../data/section.tsx';
import { getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useSettingsTexts } from '../../ui/i18n/settings-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Page } from '../../ui/page.tsx';
import { PendingButton } from '../../ui/pending-button.tsx';
import { productTitle } from '../../ui/product-name.ts';
import { accentColor } from '../../ui/theme/accent-color.ts';
import { toast } from '../../ui/toasts.tsx';
import { SettingField } from './setting-field.tsx';

/** The settings of the server that can change while it runs. */
export function SettingsPage(): ReactNode {
  const t = useSettingsTexts();
  const settings = useApiQuery(['systemSettings'], (client) => client.settings().get(), { staleTime: 0 });
  return (
    <Page title={t.title} description={t.description}>
      <QueryBoundary query={settings}>{(reports) => <SettingsForm reports={reports} />}</QueryBoundary>
    </Page>
  );
}

/** Only changed settings are sent. All of them are stored, or none. */
function SettingsForm({ reports }: { reports: readonly SettingReport[] }): ReactNode {
  const t = useSettingsTexts();
  const { save: saveLabel } = useTexts().common;
  const [draft, setDraft] = useState<Readonly<Record<string, string>>>({});
  const save = useApiMutation({
    write: (client, changes: Readonly<Record<string, string | null>>) => client.settings().update(changes),
    changes: ['systemSettings'],
    done: (reports, changes) => {
      const readValue = (setting: string): string | null => reports.find(({ name }) => name === setting)?.value ?? null;
      productTitle.set(readValue('PRODUCT_TITLE'));
      accentColor.set(readValue('ACCENT_COLOR'));
      setDraft((present) => Object.fromEntries(Object.entries(present).filter(([name]) => !(name in changes))));
      toast(t.saved);
    },
  });
  const form = useRef<HTMLFormElement>(null);
  // The first refused setting may be far above the button.
  useEffect(() => {
    if (save.error) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [save.error]);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(draft);
  };
  const problems = getErrorDetails(save.error);
  const runtime = reports.filter(({ group }) => group !== null);
  const groups = Object.keys(t.groups).filter((group) => runtime.some((each) => each.group === group));
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack gap="xl" maw={680}>
        {groups.map((group) => (
          <Section key={group} title={t.groups[group] ?? group}>
            <Stack gap="md">
              {runtime
                .filter((each) => each.group === group)
                .map((report) => (
                  <SettingField
                    key={report.name}
                    report={report}
                    draft={draft[report.name]}
                    change={(text) => setDraft(withChange(draft, report, text))}
                    reset={() => save.mutate({ [report.name]: null })}
                    problem={problems[report.name]}
                  />
                ))}
            </Stack>
          </Section>
        ))}
        <FormProblem error={save.error} />
        <Group>
          <PendingButton type="submit" pending={save.isPending} disabled={Object.keys(draft).length === 0}>
            {saveLabel}
          </PendingButton>
        </Group>
      </Stack>
    </form>
  );
}

/** The draft without settings that have their present value again. */
function withChange(
  draft: Readonly<Record<string, string>>,
  { name, value, secret }: SettingReport,
  text: string,
): Readonly<Record<string, string>> {
  const { [name]: _, ...others } = draft;
  const present = secret ? '' : (value ?? '');
  return text === present ? others : { ...others, [name]: text };
}
