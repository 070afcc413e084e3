import { buildThumbnailUrl, type StoredFile } from '@tablinum/client';
import { type ReactNode, useEffect, useState } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { Icon } from '../../ui/icon.tsx';
import classes from './file-picture.module.css';
import { findPreviewKind, isPicture } from './file-values.ts';
import { openGallery } from './gallery-state.ts';
import { useFileAddress } from './use-file-address.ts';

/** Milliseconds before a picture is loaded, so that rows that are only scrolled past do not load any. */
const loadDelay = 150;

interface FilePictureProps {
  readonly file: StoredFile;
  /** Pixels. The place is reserved, whether the picture is loaded or not. */
  readonly size: number;
}

/** A thumbnail of a file; an icon for files that are no raster pictures. It is decorative: the name is next to it. */
export function FilePicture({ file, size }: FilePictureProps): ReactNode {
  return (
    <span className={classes.frame} style={{ width: size, height: size }}>
      {isPicture(file) ? <Preview key={file.id} file={file} size={size} /> : <FileIcon size={size} />}
    </span>
  );
}

interface GalleryPictureProps extends FilePictureProps {
  /** The files of the same field, among which the gallery moves. */
  readonly files: readonly StoredFile[];
  /** -1 for a picture in a grid, which has one tab stop. */
  readonly tabIndex?: number;
}

/** A thumbnail or an icon that opens the gallery; as {@link FilePicture} for files without a preview. */
export function GalleryPicture({ file, size, files, tabIndex = 0 }: GalleryPictureProps): ReactNode {
  const t = useTexts().data.files.gallery;
  if (findPreviewKind(file) === null) return <FilePicture file={file} size={size} />;
  return (
    <button
      type="button"
      className={classes.open}
      tabIndex={tabIndex}
      aria-label={t.open(file.name)}
      aria-haspopup="dialog"
      onClick={() => openGallery(files, file)}
    >
      <FilePicture file={file} size={size} />
    </button>
  );
}

function Preview({ file, size }: FilePictureProps): ReactNode {
  const [isDelayed, setDelayed] = useState(true);
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(false), loadDelay);
    return () => clearTimeout(timer);
  }, []);
  const address = useFileAddress(file, !isDelayed);
  if (isBroken || address.isError) return <FileIcon size={size} />;
  if (!address.data) return null;
  const { url } = address.data;
  const build = (side: number): string => buildThumbnailUrl(url, { width: side, height: side, fit: 'cover' });
  return (
    <img
      className={classes.picture}
      src={build(size)}
      srcSet={`${build(size)} 1x, ${build(2 * size)} 2x`}
      alt=""
      width={size}
      height={size}
      loading="lazy"
      decoding="async"
      draggable={false}
      onError={() => setBroken(true)}
    />
  );
}

function FileIcon({ size }: { size: number }): ReactNode {
  return <Icon name="paperclip" size={size > 30 ? 20 : 14} />;
}
