import { Button, Group, Input, Skeleton, Switch, TextInput } from '@mantine/core';
import { type ReactNode, useRef, useState } from 'react';
import { DialogForm } from '../../data/dialog-form.tsx';
import { useCheck } from '../../data/queries.ts';
import { getErrorDetails, useApiMutation } from '../../data/use-api-mutation.ts';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { toast } from '../../ui/toasts.tsx';
import { textToHtml } from '../compose/draft-html.ts';
import type { EditorHandle } from '../compose/editor/rich-text-editor.tsx';
import { useEditorModule } from '../compose/editor-module.ts';
import { htmlToPlainText } from '../compose/plain-text.ts';
import { type MailTemplate, templateKeys, templateVariables } from './template-data.ts';

interface TemplateFormProps {
  readonly account: number;
  /** Null for a new one. */
  readonly template: MailTemplate | null;
  readonly done: () => void;
}

/** A template has no pictures of its own. */
const noPictures = { has: () => false, load: async () => null };

/** Creates or changes a template. */
export function TemplateForm({ account, template, done }: TemplateFormProps): ReactNode {
  const t = useComposeTexts().templates;
  const { save: saveLabel } = useTexts().common;
  const { data: check } = useCheck();
  const { module } = useEditorModule();
  const editor = useRef<EditorHandle>(null);
  const [name, setName] = useState(template?.name ?? '');
  const [subject, setSubject] = useState(template?.subject ?? '');
  const [html, setHtml] = useState(template?.html ?? textToHtml(template?.text ?? ''));
  const [shared, setShared] = useState(template?.shared ?? true);
  const isAuthor = template === null || template.authorId === check?.id;
  const save = useApiMutation({
    write: (client) => {
      const values = { name, subject, html, text: htmlToPlainText(html), ...(isAuthor && { shared }) };
      const records = client.records('mailTemplates');
      return template ? records.update(template.id, values) : records.create({ ...values, accountId: account });
    },
    changes: templateKeys,
    done: () => {
      toast(t.saved);
      done();
    },
  });
  const details = getErrorDetails(save.error);
  return (
    <DialogForm write={save} submitLabel={saveLabel} cancel={done}>
      <TextInput
        label={t.columns.name}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={details['name']}
        maxLength={255}
        autoComplete="off"
        data-autofocus
        required
      />
      <TextInput
        label={t.subject}
        description={t.subjectHint}
        value={subject}
        onChange={(event) => setSubject(event.currentTarget.value)}
        error={details['subject']}
        maxLength={500}
        autoComplete="off"
      />
      <Input.Wrapper label={t.text} error={details['html'] ?? details['text']} labelElement="div">
        {module ? (
          <module.RichTextEditor
            label={t.text}
            html={html}
            version={0}
            change={setHtml}
            pictures={noPictures}
            addFiles={() => true}
            autoFocus={false}
            ref={editor}
          />
        ) : (
          <Skeleton height={200} />
        )}
      </Input.Wrapper>
      <Input.Wrapper label={t.variables} description={t.variablesHint} labelElement="div">
        <Group gap="xs" mt={6}>
          {templateVariables.map((variable) => (
            <Button
              key={variable}
              variant="default"
              size="compact-xs"
              onClick={() => editor.current?.insertText(`{{${variable}}}`)}
            >
              {t.variableNames[variable]}
            </Button>
          ))}
        </Group>
      </Input.Wrapper>
      <Switch
        label={t.shared}
        description={t.sharedHint}
        checked={shared}
        disabled={!isAuthor}
        onChange={(event) => setShared(event.currentTarget.checked)}
      />
    </DialogForm>
  );
}
