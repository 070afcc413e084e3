/** The tools of a list: search, filter, columns, trash. */
import { Badge, Button, Modal, Popover } from '@mantine/core';
import type { Collection, Filter } from '@tablinum/client';
import { type ReactNode, useMemo, useState } from 'react';
import { useSchema } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { SearchInput } from '../../ui/search-input.tsx';
import { FilterBuilder } from '../filter/filter-builder.tsx';
import { buildFilterFields } from '../filter/filter-fields.ts';
import { countConditions, toFilterModel } from '../filter/filter-model.ts';
import { ColumnMenu } from './column-menu.tsx';
import type { ColumnChoice } from './columns.ts';
import classes from './records-page.module.css';
import type { GoToSearch, RecordsSearch } from './records-search.ts';

interface RecordsToolsProps {
  readonly collection: Collection;
  readonly search: RecordsSearch;
  readonly go: GoToSearch;
  readonly choice: ColumnChoice;
  readonly changeChoice: (choice: ColumnChoice) => void;
}

export function RecordsTools({ collection, search, go, choice, changeChoice }: RecordsToolsProps): ReactNode {
  const t = useTexts().data.records;
  return (
    <>
      <SearchInput
        className={classes.search}
        aria-label={t.search}
        placeholder={t.search}
        text={search.q ?? ''}
        go={(q) => go({ q })}
      />
      <FilterButton collection={collection} filter={search.filter} go={(filter) => go({ filter })} />
      <ColumnMenu collection={collection} choice={choice} change={changeChoice} />
      {collection.options.paranoid && (
        <Button
          variant={search.trash ? 'light' : 'default'}
          leftSection={<Icon name="trash" />}
          aria-pressed={search.trash === true}
          onClick={() => go({ trash: search.trash ? undefined : true })}
        >
          {t.trash}
        </Button>
      )}
    </>
  );
}

interface FilterButtonProps {
  readonly collection: Collection;
  readonly filter: Filter | undefined;
  readonly go: (filter: Filter | undefined) => void;
}

/** The button that opens the filter, as a popover or, on narrow screens, in full-screen. */
function FilterButton({ collection, filter, go }: FilterButtonProps): ReactNode {
  const t = useTexts().data.records;
  const { data: schema } = useSchema();
  const [opened, setOpened] = useState(false);
  const conditions = useMemo(() => {
    const model = toFilterModel(filter, buildFilterFields(collection, schema?.byName));
    return model && countConditions(model);
  }, [filter, collection, schema]);
  const narrow = matchMedia('(max-width: 48em)').matches;
  const builder = (
    <FilterBuilder
      key={JSON.stringify(filter)}
      collection={collection}
      filter={filter}
      apply={(next) => {
        setOpened(false);
        go(next);
      }}
    />
  );
  const button = (
    <Button
      variant={filter ? 'light' : 'default'}
      leftSection={<Icon name="filter" />}
      rightSection={
        filter && (
          <Badge size="xs" circle>
            {conditions ?? '…'}
          </Badge>
        )
      }
      onClick={() => setOpened(!opened)}
    >
      {t.filter}
    </Button>
  );
  if (narrow)
    return (
      <>
        {button}
        <Modal opened={opened} onClose={() => setOpened(false)} fullScreen title={t.filter}>
          {builder}
        </Modal>
      </>
    );
  return (
    <Popover
      opened={opened}
      onChange={setOpened}
      width={640}
      position="bottom-start"
      shadow="md"
      trapFocus
      withinPortal
      closeOnEscape={false}
      keepMounted
    >
      <Popover.Target>{button}</Popover.Target>
      <Popover.Dropdown
        aria-label={t.filter}
        // Escape closes an open list of choices first. This runs before the list hears the key.
        onKeyDownCapture={(event) => {
          if (event.key === 'Escape' && !isOpenList(event.target as Element)) setOpened(false);
        }}
      >
        {builder}
      </Popover.Dropdown>
    </Popover>
  );
}

function isOpenList(element: Element): boolean {
  return element.getAttribute('aria-expanded') === 'true';
}
