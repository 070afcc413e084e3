/** One field that leads anywhere: sections, collections, commands. All of it by keyboard. */
import { Modal, useMantineColorScheme } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, type ReactNode, useId, useMemo, useState } from 'react';
import { useApplication } from '../data/application.tsx';
import { useCheck } from '../data/queries.ts';
import { titleOf, useSchema } from '../data/schema.ts';
import { session } from '../data/session.ts';
import { useOffered } from '../ui/commands.ts';
import { useTexts } from '../ui/i18n/texts.tsx';
import { Icon, type IconName } from '../ui/icon.tsx';
import classes from './palette.module.css';
import { sections } from './sections.ts';

interface Entry {
  readonly group: string;
  readonly label: string;
  /** Also found by it. */
  readonly also: string;
  readonly icon: IconName;
  readonly run: () => void;
}

const mostShown = 12;

export function Palette({ opened, close }: { opened: boolean; close: () => void }): ReactNode {
  const t = useTexts().shell.palette;
  return (
    <Modal
      opened={opened}
      onClose={close}
      withCloseButton={false}
      padding={0}
      size="lg"
      yOffset="12vh"
      centered={false}
      attributes={{ content: { 'aria-label': t.open } }}
    >
      <Finder close={close} />
    </Modal>
  );
}

function Finder({ close }: { close: () => void }): ReactNode {
  const t = useTexts().shell.palette;
  const id = useId();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const entries = useEntries();
  const found = useMemo(() => matching(entries, text), [entries, text]);
  const typed = (next: string): void => {
    setText(next);
    setChosen(0);
  };
  const run = (entry: Entry | undefined): void => {
    if (!entry) return;
    close();
    entry.run();
  };
  const pressed = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((found.length + chosen + step) % Math.max(found.length, 1));
    } else if (event.key === 'Enter') run(found[chosen]);
  };
  return (
    <div>
      <div className={classes.field}>
        <Icon name="search" size={18} />
        <input
          data-autofocus
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found[chosen] && `${id}-${chosen}`}
          aria-label={t.placeholder}
          placeholder={t.placeholder}
          value={text}
          onChange={(event) => typed(event.currentTarget.value)}
          onKeyDown={pressed}
        />
      </div>
      <div id={id} role="listbox" aria-label={t.open} className={classes.list}>
        {found.map((entry, index) => (
          <button
            type="button"
            tabIndex={-1} // the field keeps the focus, and hears the keys
            key={entry.group + entry.also}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            className={classes.entry}
            onMouseMove={() => setChosen(index)}
            onClick={() => run(entry)}
          >
            <Icon name={entry.icon} />
            <span>{entry.label}</span>
            <span className={classes.group}>{entry.group}</span>
          </button>
        ))}
        {found.length === 0 && <p className={classes.empty}>{t.empty}</p>}
      </div>
    </div>
  );
}

function matching(entries: readonly Entry[], text: string): readonly Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const holds = ({ label, also }: Entry): boolean =>
    words.every((word) => `${label} ${also}`.toLowerCase().includes(word));
  const starts = ({ label }: Entry): number => (label.toLowerCase().startsWith(words[0] ?? '') ? 0 : 1);
  return entries
    .filter(holds)
    .sort((a, b) => starts(a) - starts(b))
    .slice(0, mostShown);
}

function useEntries(): readonly Entry[] {
  const t = useTexts().shell;
  const application = useApplication();
  const navigate = useNavigate();
  const { data: check } = useCheck();
  const { data: schema } = useSchema();
  const { setColorScheme } = useMantineColorScheme();
  const offered = useOffered();
  return useMemo(() => {
    const base = `/a/${application}`;
    const go = (path: string) => (): void => void navigate({ to: base + path });
    const pages: Entry[] = sections
      .filter((section) => !section.shown || (check && schema && section.shown(check, schema)))
      .map(({ id, icon, path }) => ({
        group: t.palette.go,
        label: t.sections[id],
        also: path,
        icon,
        run: go(`/${path}`),
      }));
    pages.push({ group: t.palette.go, label: t.yourAccount, also: 'account', icon: 'user', run: go('/account') });
    const collections = (schema?.collections ?? []).map((each) => ({
      group: t.palette.collections,
      label: titleOf(each),
      also: each.name,
      icon: 'table' as const,
      run: go(`/data/${each.name}`),
    }));
    const commands: Entry[] = (['light', 'dark', 'auto'] as const).map((scheme) => ({
      group: t.palette.commands,
      label: `${t.theme.label}: ${t.theme[scheme]}`,
      also: `theme ${scheme}`,
      icon: scheme === 'light' ? 'sun' : scheme === 'dark' ? 'moon' : 'monitor',
      run: () => setColorScheme(scheme),
    }));
    for (const role of check?.roles ?? [])
      commands.push({
        group: t.palette.commands,
        label: t.actAs(role),
        also: `role ${role}`,
        icon: 'shield',
        run: () => session.actAs(application, role),
      });
    const ofPage = offered.map(({ id, label, icon, keys, run }) => ({
      group: keys ?? t.palette.commands,
      label,
      also: id,
      icon,
      run,
    }));
    return [...ofPage, ...pages, ...collections, ...commands];
  }, [t, application, navigate, check, schema, setColorScheme, offered]);
}
