import { Accordion, Select, SimpleGrid } from '@mantine/core';
import type { ReactNode } from 'react';
import { useImportTexts } from '../../ui/i18n/import-texts.ts';
import type { ImportFormat, ImportPreview, SourceOptions } from './dto.ts';

interface SourceFormProps {
  readonly preview: ImportPreview;
  readonly source: SourceOptions;
  readonly change: (source: SourceOptions) => void;
}

const formats: readonly ImportFormat[] = ['csv', 'xlsx', 'json', 'ndjson'];
const delimiters = [',', ';', '|', 'tab'];
const encodings = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'windows-1252',
  'windows-1250',
  'windows-1251',
  'iso-8859-15',
  'shift_jis',
  'gb18030',
];

/** How the file is read: what was detected, which can be corrected. */
export function SourceForm({ preview, source, change }: SourceFormProps): ReactNode {
  const t = useImportTexts().source;
  const { format, encoding, delimiter, header, sheet, sheets } = preview;
  const isTable = format === 'csv' || format === 'xlsx';
  const encodingChoices = [...new Set([...(encoding ? [encoding.toLowerCase()] : []), ...encodings])];
  return (
    <Accordion variant="contained">
      <Accordion.Item value="source">
        <Accordion.Control>{t.title(t.formats[format])}</Accordion.Control>
        <Accordion.Panel>
          <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
            <Select
              label={t.format}
              data={formats.map((value) => ({ value, label: t.formats[value] }))}
              value={format}
              onChange={(next) => change({ format: next as ImportFormat })}
              allowDeselect={false}
            />
            {format === 'csv' && (
              <Select
                label={t.delimiter}
                data={delimiters.map((value) => ({ value, label: t.delimiters[value] ?? value }))}
                value={delimiter === '\t' ? 'tab' : delimiter}
                onChange={(next) => next && change({ ...source, delimiter: next })}
                allowDeselect={false}
              />
            )}
            {format !== 'xlsx' && (
              <Select
                label={t.encoding}
                data={encodingChoices}
                value={encoding?.toLowerCase() ?? null}
                onChange={(next) => next && change({ ...source, encoding: next })}
                searchable
                allowDeselect={false}
              />
            )}
            {format === 'xlsx' && sheets && sheets.length > 1 && (
              <Select
                label={t.sheet}
                data={[...new Set(sheets)]}
                value={sheet ?? null}
                onChange={(next) => next && change({ ...source, sheet: sheets.indexOf(next) })}
                allowDeselect={false}
              />
            )}
            {isTable && (
              <Select
                label={t.header}
                data={[
                  { value: 'true', label: t.hasHeader },
                  { value: 'false', label: t.noHeader },
                ]}
                value={header === null ? null : String(header)}
                onChange={(next) => change({ ...source, header: next === 'true' })}
                allowDeselect={false}
              />
            )}
          </SimpleGrid>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}
