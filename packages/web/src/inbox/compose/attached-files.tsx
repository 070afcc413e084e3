import { Progress } from '@mantine/core';
import type { ReactNode } from 'react';
import { useComposeTexts } from '../../ui/i18n/compose-texts.ts';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { formatSize } from '../../ui/size-text.ts';
import { useStore } from '../../ui/store.ts';
import type { Attachment } from '../mail-types.ts';
import classes from './composer.module.css';
import type { DraftContent } from './draft-content.ts';
import type { DraftSession } from './draft-session.ts';
import type { Upload } from './draft-uploads.ts';

/** The attachments that the text does not show. */
export function listAttached(attachments: readonly Attachment[], content: DraftContent | null): readonly Attachment[] {
  const shown = `${content?.html ?? ''}${content?.quote ?? ''}`;
  return attachments.filter(
    ({ contentId }) => contentId === null || !shown.includes(`data-cid="${contentId.replace(/^<|>$/g, '')}"`),
  );
}

interface AttachedFilesProps {
  readonly session: DraftSession;
  readonly files: readonly Attachment[];
}

/** The files of a draft, and those that are being uploaded; nothing if it has none. */
export function AttachedFiles({ session, files }: AttachedFilesProps): ReactNode {
  const t = useInboxTexts().compose;
  const uploads = useStore(session.uploads);
  if (files.length === 0 && uploads.length === 0) return null;
  return (
    <ul className={classes.files} aria-label={t.files}>
      {files.map((file) => (
        <li key={file.id}>
          <Icon name="paperclip" size={14} />
          <span className={classes.file}>{file.filename}</span>
          {file.size !== null && <span className={classes.size}>{formatSize(file.size)}</span>}
          <IconButton
            icon="x"
            size="xs"
            label={t.detach(file.filename ?? '')}
            onClick={() => void session.detach(file)}
          />
        </li>
      ))}
      {uploads.map((upload) => (
        <RunningUpload key={upload.id} upload={upload} />
      ))}
    </ul>
  );
}

function RunningUpload({ upload }: { upload: Upload }): ReactNode {
  const t = useComposeTexts();
  const { name, size, sent, cancel } = upload;
  return (
    <li>
      <Icon name="upload" size={14} />
      <span className={classes.file}>{name}</span>
      <Progress.Root w="4rem" size="sm">
        <Progress.Section value={size === 0 ? 100 : (sent / size) * 100} aria-label={t.uploading(name)} />
      </Progress.Root>
      <IconButton icon="x" size="xs" label={t.cancelUpload(name)} onClick={cancel} />
    </li>
  );
}
