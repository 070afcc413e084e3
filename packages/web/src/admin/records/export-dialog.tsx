import { Button, Checkbox, Modal, Radio, Select, Stack, Text } from '@mantine/core';
import type { Collection } from '@tablinum/client';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { getClient, useApplication } from '../../data/application.tsx';
import { DialogForm } from '../../data/dialog-form.tsx';
import { saveReply } from '../../data/save-reply.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import { toast } from '../../ui/toasts.tsx';
import { buildExportParameters, type ExportChoice, type ExportedList } from './export-request.ts';

interface ExportProps {
  readonly collection: Collection;
  readonly list: ExportedList;
  /** Whether every record of the list is selected. */
  readonly allSelected: boolean;
}

/** The button that opens the export dialog. */
export function ExportButton(props: ExportProps): ReactNode {
  const t = useTexts().data.records.export;
  const [opened, setOpened] = useState(false);
  const close = (): void => setOpened(false);
  return (
    <>
      <Button variant="default" leftSection={<Icon name="arrowDown" />} onClick={() => setOpened(true)}>
        {t.open}
      </Button>
      <Modal opened={opened} onClose={close} title={t.title}>
        <ExportForm {...props} close={close} />
      </Modal>
    </>
  );
}

function ExportForm({ collection, list, allSelected, close }: ExportProps & { readonly close: () => void }): ReactNode {
  const t = useTexts().data.records.export;
  const application = useApplication();
  const count = list.selected.length;
  const [choice, setChoice] = useState<ExportChoice>({
    records: count > 0 && !allSelected ? 'selected' : 'shown',
    format: 'csv',
    shownColumns: false,
    titles: false,
    bom: false,
  });
  const change = (part: Partial<ExportChoice>): void => setChoice({ ...choice, ...part });
  const [received, setReceived] = useState(0);
  const write = useMutation({
    mutationFn: async () => {
      setReceived(0);
      const parameters = buildExportParameters(choice, list);
      const response = await getClient(application).records(collection.name).exportFile(parameters);
      return saveReply(response, setReceived);
    },
    onSuccess: (isSaved) => {
      if (!isSaved) return;
      toast(t.done);
      close();
    },
  });
  const isTable = choice.format === 'csv' || choice.format === 'xlsx';
  return (
    <DialogForm write={write} submitLabel={t.start} cancel={close}>
      <Radio.Group
        label={t.records}
        value={choice.records}
        onChange={(records) => change({ records: records as ExportChoice['records'] })}
      >
        <Stack gap={6} mt={6}>
          <Radio value="shown" label={t.shown} />
          {count > 0 && !allSelected && <Radio value="selected" label={t.selected(count)} />}
          <Radio value="all" label={t.all} />
        </Stack>
      </Radio.Group>
      <Select
        label={t.format}
        data={(['csv', 'xlsx', 'json', 'ndjson'] as const).map((value) => ({ value, label: t.formats[value] }))}
        value={choice.format}
        onChange={(format) => change({ format: format as ExportChoice['format'] })}
        allowDeselect={false}
      />
      <Checkbox
        label={t.shownColumns}
        checked={choice.shownColumns}
        onChange={({ currentTarget }) => change({ shownColumns: currentTarget.checked })}
      />
      {isTable && (
        <Checkbox
          label={t.titles}
          checked={choice.titles}
          onChange={({ currentTarget }) => change({ titles: currentTarget.checked })}
        />
      )}
      {choice.format === 'csv' && (
        <Checkbox
          label={t.bom}
          checked={choice.bom}
          onChange={({ currentTarget }) => change({ bom: currentTarget.checked })}
        />
      )}
      {write.isPending && (
        <Text size="sm" c="dimmed" role="status" className="tabular">
          {t.working((received / 1_000_000).toFixed(1))}
        </Text>
      )}
    </DialogForm>
  );
}
