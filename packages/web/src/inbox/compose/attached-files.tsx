import type { ReactNode } from 'react';
import { useInboxTexts } from '../../ui/i18n/inbox-texts.ts';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import type { Attachment } from '../mail-types.ts';
import classes from './composer.module.css';

interface AttachedFilesProps {
  readonly files: readonly Attachment[];
  readonly detach: (file: Attachment) => void;
}

/** The files of a draft; nothing if it has none. */
export function AttachedFiles({ files, detach }: AttachedFilesProps): ReactNode {
  const t = useInboxTexts().compose;
  if (files.length === 0) return null;
  return (
    <ul className={classes.files} aria-label={t.files}>
      {files.map((file) => (
        <li key={file.id}>
          <Icon name="paperclip" size={14} />
          <span className={classes.file}>{file.filename}</span>
          <IconButton icon="x" size="xs" label={t.detach(file.filename ?? '')} onClick={() => detach(file)} />
        </li>
      ))}
    </ul>
  );
}
