import { Accordion, Radio, Select, Stack, Text } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import type { ReactNode } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import type { FieldDraft } from './field-draft.ts';
import { type OptionName, optionsByType } from './field-types.ts';
import { type ExistingLink, findExistingLinks, linkOptions, resolveSides } from './relation-model.ts';
import { RelationPicture } from './relation-picture.tsx';

interface RelationFormProps {
  readonly draft: FieldDraft;
  readonly change: (draft: FieldDraft) => void;
  /** The name of the collection that the field belongs to. */
  readonly collectionName: string;
  readonly targets: readonly string[];
  readonly collections: readonly Collection[];
  /** The relation already exists: its link cannot be changed. */
  readonly exists: boolean;
  readonly problems: Readonly<Record<string, string>>;
  /** The input of any other option. */
  readonly option: (name: OptionName) => ReactNode;
  /** The optional title and description. */
  readonly rest: ReactNode;
}

/**
 * The inputs of a relation: the linked collection, the link that it uses, and what a delete does. Other options are in
 * a folded section.
 */
export function RelationForm(props: RelationFormProps): ReactNode {
  const { draft, change, collectionName, targets, collections, exists, problems, option, rest } = props;
  const t = useTexts().data.relation;
  const target = String(draft.options.target ?? '');
  const links = exists
    ? []
    : findExistingLinks(
        draft.type,
        collectionName,
        collections.find(({ name }) => name === target),
      );
  const used = links.find(({ options }) => usesLink(draft, options));
  const choose = (link: ExistingLink | null): void => change(applyLink(draft, link));
  const pick = (name: string): void => {
    const found = findExistingLinks(
      draft.type,
      collectionName,
      collections.find((each) => each.name === name),
    );
    change(applyLink({ ...draft, options: { ...draft.options, target: name } }, found[0] ?? null));
  };
  const hasOnDeleteChoice = draft.type !== 'belongsToMany' && !used;
  const advancedOptions = (optionsByType[draft.type] ?? []).filter((name) => name !== 'target' && name !== 'onDelete');
  return (
    <Stack gap="sm">
      <Select
        label={t.target}
        data={[...targets]}
        value={target || null}
        onChange={(name) => pick(name ?? '')}
        error={problems['target']}
        disabled={exists}
        searchable
        required
      />
      {links.length > 0 && (
        <LinkChoice links={links} used={used} target={target} collectionName={collectionName} choose={choose} />
      )}
      {target !== '' && (
        <RelationPicture draft={draft} collectionName={collectionName} target={target} link={used?.field} />
      )}
      {target !== '' && hasOnDeleteChoice && (
        <OnDelete
          draft={draft}
          change={change}
          {...resolveSides(draft.type, collectionName, target)}
          error={problems['onDelete']}
        />
      )}
      <Accordion variant="contained" chevronPosition="left">
        <Accordion.Item value="advanced">
          <Accordion.Control>{t.advanced}</Accordion.Control>
          <Accordion.Panel>
            <Stack gap="sm">
              {rest}
              {advancedOptions.map((name) => option(name))}
            </Stack>
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </Stack>
  );
}

interface LinkChoiceProps {
  readonly links: readonly ExistingLink[];
  readonly used: ExistingLink | undefined;
  readonly target: string;
  readonly collectionName: string;
  readonly choose: (link: ExistingLink | null) => void;
}

/** Existing links are listed first. Another link is only created if it is selected. */
function LinkChoice({ links, used, target, collectionName, choose }: LinkChoiceProps): ReactNode {
  const t = useTexts().data.relation;
  return (
    <Radio.Group
      label={t.which}
      value={used?.id ?? ''}
      onChange={(id) => choose(links.find((link) => link.id === id) ?? null)}
    >
      <Stack gap={6} mt={4}>
        {links.map(({ id, field }) => (
          <Radio key={id} value={id} label={t.existing(`${target}.${field.name}`)} description={t.existingText} />
        ))}
        <Radio value="" label={t.another} description={t.anotherText(target, collectionName)} />
      </Stack>
    </Radio.Group>
  );
}

interface OnDeleteProps {
  readonly draft: FieldDraft;
  readonly change: (draft: FieldDraft) => void;
  readonly child: string;
  readonly parent: string;
  readonly error: string | undefined;
}

function OnDelete({ draft, change, child, parent, error }: OnDeleteProps): ReactNode {
  const t = useTexts().data.relation;
  const chosen = String(draft.options.onDelete || 'setNull') as keyof typeof t.onDelete;
  return (
    <>
      <Select
        label={t.whenDeleted(parent)}
        data={Object.entries(t.onDelete).map(([value, formatLabel]) => ({ value, label: formatLabel(child) }))}
        value={chosen}
        onChange={(onDelete) => change({ ...draft, options: { ...draft.options, onDelete: onDelete ?? '' } })}
        error={error}
      />
      <Text size="sm" c="dimmed">
        {t.consequence[chosen](child, parent)}
      </Text>
    </>
  );
}

function usesLink(draft: FieldDraft, options: FieldDraft['options']): boolean {
  return linkOptions.every((name) => (draft.options[name] ?? '') === (options[name] ?? ''));
}

function applyLink(draft: FieldDraft, link: ExistingLink | null): FieldDraft {
  const otherOptions = Object.entries(draft.options).filter(
    ([name]) => !(linkOptions as readonly string[]).includes(name),
  );
  const options = { ...Object.fromEntries(otherOptions), ...link?.options };
  return { ...draft, options: link ? { ...options, onDelete: '' } : options };
}
