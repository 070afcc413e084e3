/** The input of a field of the type `file`. */
import { Button, Group, Input, Progress, Text, VisuallyHidden } from '@mantine/core';
import type { Field, StoredFile } from '@tablinum/client';
import { type ReactNode, useRef } from 'react';
import { useMay } from '../../data/schema.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { formatSize } from '../../ui/size-text.ts';
import type { SharedInputProps } from '../records/field-input.tsx';
import { DropArea } from './drop-area.tsx';
import classes from './file-list.module.css';
import { FileList } from './file-list.tsx';
import { toFiles } from './file-values.ts';
import { type Upload, useFileUploads } from './use-file-uploads.ts';

interface FileInputProps {
  readonly field: Field;
  readonly value: unknown;
  readonly change: (value: unknown) => void;
  readonly shared: SharedInputProps;
}

export function FileInput({ field, value, change, shared }: FileInputProps): ReactNode {
  const { label, description, error, required, disabled } = shared;
  const t = useTexts().data.files;
  const mayUpload = useMay()('files', 'upload');
  const { uploads, problems, uploaded, add, cancel, remove } = useFileUploads({ field, value, change });
  const chooser = useRef<HTMLButtonElement>(null);
  const group = useRef<HTMLDivElement>(null);
  const files = toFiles(value);
  const removeFile = (file: StoredFile): void => {
    remove(file);
    (chooser.current ?? group.current)?.focus(); // the button that had the focus disappears
  };
  return (
    <Input.Wrapper label={label} labelElement="div" description={description} error={error} required={required}>
      <DropArea ref={group} label={label} drop={mayUpload && !disabled ? add : null}>
        {files.length > 0 && (
          <FileList
            label={label}
            files={files}
            actions={(file) =>
              !disabled && (
                <IconButton icon="x" size="md" label={t.remove(file.name)} onClick={() => removeFile(file)} />
              )
            }
          />
        )}
        {uploads.map((upload) => (
          <UploadProgress key={upload.id} upload={upload} cancel={() => cancel(upload)} />
        ))}
        {problems.length > 0 && (
          <div role="alert" className={classes.problems}>
            {problems.map((problem) => (
              <div key={problem}>{problem}</div>
            ))}
          </div>
        )}
        {mayUpload ? (
          <FileChooser ref={chooser} field={field} label={label} isEmpty={files.length === 0} add={add} />
        ) : (
          <Text size="sm" c="dimmed">
            {t.noPermission}
          </Text>
        )}
        <VisuallyHidden role="status">{uploaded && t.uploaded(uploaded.name)}</VisuallyHidden>
      </DropArea>
    </Input.Wrapper>
  );
}

interface FileChooserProps {
  readonly ref: React.Ref<HTMLButtonElement>;
  readonly field: Field;
  readonly label: string;
  readonly isEmpty: boolean;
  readonly add: (files: readonly File[]) => void;
}

/** The button that opens the file dialog of the browser, and what the field accepts. */
function FileChooser({ ref, field, label, isEmpty, add }: FileChooserProps): ReactNode {
  const t = useTexts().data.files;
  const input = useRef<HTMLInputElement>(null);
  const { accept = [], maxSize, maxCount, multiple = false } = field;
  const action = multiple || isEmpty ? t.choose(multiple) : t.replace;
  const limits = [
    t.drop(multiple),
    ...(accept.length > 0 ? [t.accepts(accept.join(', '))] : []),
    ...(maxSize === undefined ? [] : [t.maxSize(formatSize(maxSize), multiple)]),
    ...(multiple && maxCount !== undefined ? [t.maxCount(maxCount)] : []),
  ];
  return (
    <Group gap="xs">
      <input
        ref={input}
        type="file"
        hidden
        multiple={multiple}
        accept={accept.join(',')}
        onChange={(event) => {
          add([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = ''; // the same file can be chosen again
        }}
      />
      <Button
        ref={ref}
        size="compact-sm"
        variant="default"
        aria-label={t.chooseFor(action, label)}
        onClick={() => input.current?.click()}
      >
        {action}
      </Button>
      <Text size="xs" c="dimmed">
        {limits.join(' ')}
      </Text>
    </Group>
  );
}

function UploadProgress({ upload, cancel }: { upload: Upload; cancel: () => void }): ReactNode {
  const t = useTexts().data.files;
  const { file, sent } = upload;
  return (
    <div className={classes.file}>
      <span className={classes.about}>
        <Text size="sm" truncate maw="100%">
          {file.name}
        </Text>
        <Progress.Root w="100%">
          <Progress.Section
            value={file.size === 0 ? 100 : Math.min(100, (100 * sent) / file.size)}
            aria-label={t.progressOf(file.name)}
          />
        </Progress.Root>
        <span className={classes.details}>
          {formatSize(Math.min(sent, file.size))} / {formatSize(file.size)} · {t.uploadingHint}
        </span>
      </span>
      <IconButton icon="x" size="md" label={t.cancel(file.name)} onClick={cancel} />
    </div>
  );
}
