/** The command palette: finds sections, collections and commands by keyboard. */
import { useMantineColorScheme } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { useApplication } from '../data/application.tsx';
import { getTitle } from '../data/field-names.ts';
import { useCheck } from '../data/queries.ts';
import { useSchema } from '../data/schema.ts';
import { session } from '../data/session.ts';
import { type Choice, ChoiceList } from '../ui/choice-list.tsx';
import { ChoiceModal } from '../ui/choice-modal.tsx';
import { usePageCommands } from '../ui/commands.ts';
import { useTexts } from '../ui/i18n/texts.tsx';
import { listVisibleSections } from './sections.ts';

interface Entry extends Choice {
  /** A further search term. */
  readonly searchText: string;
  readonly run: () => void;
}

const maxResults = 12;

export function Palette({ opened, close }: { opened: boolean; close: () => void }): ReactNode {
  const t = useTexts().shell.palette;
  return (
    <ChoiceModal opened={opened} close={close} label={t.open} size="lg">
      <Finder close={close} />
    </ChoiceModal>
  );
}

function Finder({ close }: { close: () => void }): ReactNode {
  const t = useTexts().shell.palette;
  const entries = useEntries();
  const run = (entry: Entry): void => {
    close();
    entry.run();
  };
  return (
    <ChoiceList
      label={t.placeholder}
      listLabel={t.open}
      placeholder={t.placeholder}
      findChoices={(text) => findMatches(entries, text)}
      choose={run}
      empty={t.empty}
    />
  );
}

function findMatches(entries: readonly Entry[], text: string): readonly Entry[] {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isMatch = ({ label, searchText }: Entry): boolean =>
    terms.every((term) => `${label} ${searchText}`.toLowerCase().includes(term));
  const rankEntry = ({ label }: Entry): number => (label.toLowerCase().startsWith(terms[0] ?? '') ? 0 : 1);
  return entries
    .filter(isMatch)
    .sort((a, b) => rankEntry(a) - rankEntry(b))
    .slice(0, maxResults);
}

function useEntries(): readonly Entry[] {
  const t = useTexts().shell;
  const application = useApplication();
  const navigate = useNavigate();
  const { data: check } = useCheck();
  const { data: schema } = useSchema();
  const { setColorScheme } = useMantineColorScheme();
  const pageCommands = usePageCommands();
  return useMemo(() => {
    const base = `/a/${application}`;
    const go = (path: string) => (): void => void navigate({ to: base + path });
    const entry = (aside: string, rest: Omit<Entry, 'aside' | 'key'>): Entry => ({
      key: `${aside} ${rest.searchText}`,
      aside,
      ...rest,
    });
    const pages = listVisibleSections(check, schema).map(({ id, icon, path }) =>
      entry(t.palette.go, { label: t.sections[id], searchText: path, icon, run: go(`/${path}`) }),
    );
    pages.push(entry(t.palette.go, { label: t.yourAccount, searchText: 'account', icon: 'user', run: go('/account') }));
    const collections = (schema?.collections ?? []).map((each) =>
      entry(t.palette.collections, {
        label: getTitle(each),
        searchText: each.name,
        icon: 'table',
        run: go(`/data/${each.name}`),
      }),
    );
    const commands = (['light', 'dark', 'auto'] as const).map((scheme) =>
      entry(t.palette.commands, {
        label: `${t.theme.label}: ${t.theme[scheme]}`,
        searchText: `theme ${scheme}`,
        icon: scheme === 'light' ? 'sun' : scheme === 'dark' ? 'moon' : 'monitor',
        run: () => setColorScheme(scheme),
      }),
    );
    for (const role of check?.roles ?? [])
      commands.push(
        entry(t.palette.commands, {
          label: t.actAs(check?.roleTitles[role] || role),
          searchText: `role ${role}`,
          icon: 'shield',
          run: () => session.actAs(application, role),
        }),
      );
    const pageEntries = pageCommands.map(({ id, label, icon, keys, run }) =>
      entry(keys ?? t.palette.commands, { label, searchText: id, icon, run }),
    );
    return [...pageEntries, ...pages, ...collections, ...commands];
  }, [t, application, navigate, check, schema, setColorScheme, pageCommands]);
}
