import { UnstyledButton } from '@mantine/core';
import type { StoredFile } from '@tablinum/client';
import type { ReactNode } from 'react';
import { useClient } from '../../data/application.tsx';
import { getErrorMessage } from '../../data/problem.tsx';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { saveAddress } from '../../ui/save-file.ts';
import { formatSize } from '../../ui/size-text.ts';
import { toast } from '../../ui/toasts.tsx';
import classes from './file-list.module.css';
import { FilePicture } from './file-picture.tsx';

const pictureSize = 48;

interface FileListProps {
  /** The accessible name. */
  readonly label: string;
  readonly files: readonly StoredFile[];
  /** The buttons of a file. */
  readonly actions?: (file: StoredFile) => ReactNode;
}

/** Files with their pictures. A click on a name downloads the file. */
export function FileList({ label, files, actions }: FileListProps): ReactNode {
  const t = useTexts().data.files;
  const client = useClient();
  const download = async ({ id, name }: StoredFile): Promise<void> => {
    try {
      saveAddress((await client.files.sign(id)).url, name);
    } catch (error) {
      toast(getErrorMessage(error), { failed: true });
    }
  };
  return (
    <ul className={classes.list} aria-label={label}>
      {files.map((file) => (
        <li key={file.id} className={classes.file}>
          <FilePicture file={file} size={pictureSize} />
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
