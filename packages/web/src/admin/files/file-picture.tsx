import type { StoredFile } from '@tablinum/client';
import { type ReactNode, useEffect, useState } from 'react';
import { useApiQuery } from '../../data/queries.ts';
import { Icon } from '../../ui/icon.tsx';
import classes from './file-picture.module.css';
import { hasPreview } from './file-values.ts';

/** Seconds for which the address of a picture is signed, and for which it is used again. */
const addressSeconds = { signed: 3600, cached: 3000 };
/** Milliseconds before a picture is loaded, so that rows that are only scrolled past do not load any. */
const loadDelay = 150;

interface FilePictureProps {
  readonly file: StoredFile;
  /** Pixels. The place is reserved, whether the picture is loaded or not. */
  readonly size: number;
}

/** A small picture of a file; an icon for files that are no raster pictures. It is decorative: the name is next to it. */
export function FilePicture({ file, size }: FilePictureProps): ReactNode {
  return (
    <span className={classes.frame} style={{ width: size, height: size }}>
      {hasPreview(file) ? <Preview key={file.id} file={file} size={size} /> : <FileIcon size={size} />}
    </span>
  );
}

function Preview({ file, size }: FilePictureProps): ReactNode {
  const [isDelayed, setDelayed] = useState(true);
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(false), loadDelay);
    return () => clearTimeout(timer);
  }, []);
  const address = useApiQuery(
    ['file-address', file.id],
    (client, signal) => client.files.sign(file.id, addressSeconds.signed, { signal }),
    { enabled: !isDelayed, staleTime: 1000 * addressSeconds.cached },
  );
  if (isBroken || address.isError) return <FileIcon size={size} />;
  if (!address.data) return null;
  return (
    <img
      className={classes.picture}
      src={address.data.url}
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
