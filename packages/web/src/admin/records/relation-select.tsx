import { Loader, Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import type { Field, Key, RecordValues } from '@tablinum/client';
import { type KeyboardEvent, type ReactNode, useEffect, useEffectEvent, useMemo, useState } from 'react';
import { useApiQuery } from '../../data/queries.ts';
import { findKeyField, getRecordLabel } from '../../data/records/label.ts';
import { useCollection } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';

interface RelationSelectProps {
  readonly field: Pick<Field, 'target' | 'targetKey' | 'required'>;
  readonly label?: string;
  /** The accessible name, if there is no visible label. */
  readonly name?: string;
  readonly value: Key | null;
  /** The linked record, if it is known, so that its label need not be loaded. */
  readonly record?: RecordValues | null;
  readonly change: (key: Key | null, record: RecordValues | null) => void;
  readonly error?: ReactNode;
  readonly open?: boolean;
  /** The key that opened the select; the search begins with it. */
  readonly typed?: string | null;
  readonly close?: () => void;
  /** Called for key events of the input. */
  readonly keys?: (event: KeyboardEvent) => void;
  readonly disabled?: boolean;
}

/** Selects a record of another collection by its label. The search runs on the server. */
export function RelationSelect({
  field,
  label,
  name,
  value,
  record,
  change,
  error,
  open,
  typed,
  close,
  keys,
  disabled,
}: RelationSelectProps): ReactNode {
  const t = useTexts().data.records;
  const targetName = field.target ?? '';
  const target = useCollection(targetName);
  const key = field.targetKey ?? (target ? findKeyField(target).name : 'id');
  const chosen = useApiQuery(
    ['records', targetName, 'named', value],
    (client, signal) =>
      client.records(targetName).list({ filter: { [key]: value }, pageSize: 1, count: 'none' }, { signal }),
    { enabled: target != null && value !== null && !record },
  );
  const linkedRecord = value === null ? null : (record ?? chosen.data?.data[0] ?? null);
  const chosenLabel = linkedRecord ? getRecordLabel(target, linkedRecord) : null;
  const [text, setText] = useState(chosenLabel ?? '');
  const [debouncedText] = useDebouncedValue(text, 200);
  // Mantine sets the search text to the label of the value first; this effect runs later.
  const begin = useEffectEvent(() => typed && setText(typed));
  useEffect(() => void begin(), []);
  const searching = text !== '' && text !== chosenLabel;
  const search = debouncedText !== '' && debouncedText !== chosenLabel ? debouncedText : undefined;
  const found = useApiQuery(
    ['records', targetName, 'pick', search ?? ''],
    (client, signal) => client.records(targetName).list({ search, pageSize: 20, count: 'none' }, { signal }),
    { enabled: target != null, keepPreviousData: true },
  );
  // Options of an earlier search are not offered: Enter would take one of them.
  const pending = searching && (debouncedText !== text || found.isPlaceholderData);
  const records = useMemo(() => {
    const listed = found.data?.data ?? [];
    if (searching) return pending ? [] : listed;
    // The linked record comes first, so that no other one takes its place while the list is read.
    return linkedRecord
      ? [linkedRecord, ...listed.filter((each) => String(each[key]) !== String(linkedRecord[key]))]
      : listed;
  }, [linkedRecord, found.data, key, searching, pending]);
  const data = records.map((each) => ({ value: String(each[key]), label: getRecordLabel(target, each) }));
  const pick = (text: string | null): void => {
    const picked = records.find((each) => String(each[key]) === text) ?? null;
    change(picked ? (picked[key] as Key) : null, picked);
  };
  return (
    <Select
      {...(label ? { label } : { 'aria-label': name ?? t.choose })}
      data={data}
      value={value === null ? null : String(value)}
      onChange={pick}
      searchValue={text}
      onSearchChange={setText}
      onFocus={(event) => event.currentTarget.select()}
      filter={({ options }) => options}
      nothingFoundMessage={pending || found.isFetching ? t.searching : t.noneFound}
      placeholder={t.choose}
      rightSection={found.isFetching ? <Loader size={14} /> : undefined}
      searchable
      clearable={!field.required}
      // Enter takes the first match of a search; without a search it changes nothing.
      selectFirstOptionOnChange={searching && !pending}
      error={error}
      disabled={disabled ?? false}
      required={field.required ?? false}
      {...(open && { defaultDropdownOpened: true, autoFocus: true })}
      {...(close && { onDropdownClose: close })}
      {...(keys && { onKeyDown: keys })}
    />
  );
}
