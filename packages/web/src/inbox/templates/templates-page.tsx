import { Badge, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useApplication } from '../../data/application.tsx';
import { QueryBoundary } from '../../data/problem.tsx';
import { useMay } from '../../data/schema.ts';
import { useActionMutation } from '../../data/use-api-mutation.ts';
import { confirm } from '../../ui/confirm.tsx';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { TextLink } from '../../ui/links.tsx';
import { ListTable } from '../../ui/list-table.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { toast } from '../../ui/toasts.tsx';
import { useAccount } from '../accounts/account-data.ts';
import { type MailTemplate, templateKeys, useTemplates } from './template-data.ts';
import { TemplateForm } from './template-form.tsx';
import { TemplatePreview } from './template-preview.tsx';

/** The page of the templates of one mail account. */
export function TemplatesPage(): ReactNode {
  const t = useComposeTexts().templates;
  const app = useApplication();
  const { account: id = '' } = useParams({ strict: false });
  const account = useAccount(Number(id)).data;
  const templates = useTemplates(Number(id));
  const may = useMay();
  const [edited, setEdited] = useState<MailTemplate | 'new' | null>(null);
  const [previewed, setPreviewed] = useState<MailTemplate | null>(null);
  const close = (): void => setEdited(null);
  const above = (
    <TextLink to="/a/$app/inbox/accounts/$account" params={{ app, account: id }}>
      {account ? account.name || account.address : id}
    </TextLink>
  );
  const add = may('mailTemplates', 'create') && (
    <Button leftSection={<Icon name="plus" />} onClick={() => setEdited('new')}>
      {t.add}
    </Button>
  );
  return (
    <Page title={t.title} above={above} description={t.description} actions={add}>
      <QueryBoundary query={templates} permission={{ resource: 'mailTemplates', action: 'list' }}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="note" title={t.none} text={t.noneText} />
          ) : (
            <TemplateTable templates={list} edit={setEdited} preview={setPreviewed} />
          )
        }
      </QueryBoundary>
      <Modal opened={edited !== null} onClose={close} title={edited === 'new' ? t.add : t.edit} size="xl">
        {edited !== null && (
          <TemplateForm account={Number(id)} template={edited === 'new' ? null : edited} done={close} />
        )}
      </Modal>
      <Modal
        opened={previewed !== null}
        onClose={() => setPreviewed(null)}
        title={t.previewTitle(previewed?.name ?? '')}
        size="lg"
      >
        {previewed !== null && <TemplatePreview template={previewed} />}
      </Modal>
    </Page>
  );
}

interface TemplateTableProps {
  readonly templates: readonly MailTemplate[];
  readonly edit: (template: MailTemplate) => void;
  readonly preview: (template: MailTemplate) => void;
}

function TemplateTable({ templates, edit, preview }: TemplateTableProps): ReactNode {
  const t = useComposeTexts().templates;
  const may = useMay();
  const destroy = useActionMutation<unknown, number>({
    write: (client, id) => client.records('mailTemplates').destroy({ filterByTk: [id] }),
    changes: templateKeys,
    done: () => toast(t.deleted),
  });
  const remove = async ({ id, name }: MailTemplate): Promise<void> => {
    const question = { title: t.deleteTitle(name), text: t.deleteText, confirmLabel: t.delete, danger: true };
    if (await confirm(question)) await destroy(id);
  };
  return (
    <ListTable<MailTemplate>
      label={t.title}
      rows={templates}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t.columns.name,
          render: ({ name, subject, shared }) => (
            <Stack gap={0}>
              <Group gap="xs">
                <Text fw={500}>{name}</Text>
                {!shared && (
                  <Badge variant="default" size="sm">
                    {t.private}
                  </Badge>
                )}
              </Group>
              <Text size="sm" c="dimmed" dir="auto">
                {subject}
              </Text>
            </Stack>
          ),
        },
        {
          title: '',
          width: 130,
          render: (template) => (
            <Group gap={4} wrap="nowrap" justify="flex-end">
              <IconButton icon="search" label={t.preview(template.name)} onClick={() => preview(template)} />
              {may('mailTemplates', 'update') && (
                <IconButton icon="edit" label={t.editNamed(template.name)} onClick={() => edit(template)} />
              )}
              {may('mailTemplates', 'destroy') && (
                <IconButton icon="trash" label={t.deleteNamed(template.name)} onClick={() => void remove(template)} />
              )}
            </Group>
          ),
        },
      ]}
    />
  );
}
