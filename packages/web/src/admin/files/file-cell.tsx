import type { StoredFile } from '@tablinum/client';
import type { ReactNode } from 'react';
import classes from './file-list.module.css';
import { GalleryPicture } from './file-picture.tsx';

const pictureSize = 26;

/** The files of a cell in one line: the first one, and how many others there are. */
export function FileCell({ files }: { files: readonly StoredFile[] }): ReactNode {
  const [first, ...others] = files;
  if (!first) return null;
  return (
    <span className={classes.cell} title={files.map(({ name }) => name).join(', ')}>
      <GalleryPicture file={first} size={pictureSize} files={files} tabIndex={-1} />
      <span className={classes.cellName}>{first.name}</span>
      {others.length > 0 && <span className={classes.others}>+{others.length}</span>}
    </span>
  );
}
