import { UnstyledButton } from '@mantine/core';
import type { StoredFile } from '@tablinum/client';
import type { ReactNode } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { formatSize } from '../../ui/size-text.ts';
import classes from './file-list.module.css';
import { GalleryPicture } from './file-picture.tsx';
import { useFileDownload } from './use-file-download.ts';

const pictureSize = 48;

interface FileListProps {
  /** The accessible name. */
  readonly label: string;
  readonly files: readonly StoredFile[];
  /** The buttons of a file. */
  readonly actions?: (file: StoredFile) => ReactNode;
}

/** Files with their pictures. A click on a picture or an icon opens the gallery, a click on a name downloads the file. */
export function FileList({ label, files, actions }: FileListProps): ReactNode {
  const t = useTexts().data.files;
  const download = useFileDownload();
  return (
    <ul className={classes.list} aria-label={label}>
      {files.map((file) => (
        <li key={file.id} className={classes.file}>
          <GalleryPicture file={file} size={pictureSize} files={files} />
          <span className={classes.about}>
            <UnstyledButton
              className={classes.name}
              aria-label={t.download(file.name)}
              title={file.name}
              onClick={() => void download(file)}
            >
              {file.name}
            </UnstyledButton>
            <span className={classes.details}>
              {formatSize(file.size)} · {file.contentType}
              {file.width !== null && file.height !== null && ` · ${file.width} × ${file.height}`}
            </span>
          </span>
          {actions?.(file)}
        </li>
      ))}
    </ul>
  );
}
