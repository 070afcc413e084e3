/**
 * One file on the whole screen: a picture, PDF, text, audio or video. The server sends all of them with a policy that
 * forbids scripts.
 */
import { Text } from '@mantine/core';
import { buildThumbnailUrl, type StoredFile } from '@tablinum/client';
import { type ReactNode, useState } from 'react';
import { useApiQuery } from '../../data/queries.ts';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { findPreviewKind, type PreviewKind } from './file-values.ts';
import classes from './gallery.module.css';
import { useFileAddress } from './use-file-address.ts';

/** Pixels of a thumbnail that fills the screen. */
const screenSize = { width: 2048, height: 2048 };
/** A larger animation is not loaded; its first picture is shown. */
const maxAnimationBytes = 8 * 1024 * 1024;
/** Only the beginning of a longer text is shown. */
const maxTextBytes = 256 * 1024;

interface PreviewProps {
  readonly file: StoredFile;
}

const previews: Readonly<Record<PreviewKind, (props: PreviewProps) => ReactNode>> = {
  picture: Picture,
  pdf: Pdf,
  text: PlainText,
  audio: Player,
  video: Player,
};

export function FilePreview({ file }: PreviewProps): ReactNode {
  const kind = findPreviewKind(file);
  if (kind === null) return null;
  const Preview = previews[kind];
  return <Preview file={file} />;
}

/** The picture in the size of a screen. If there is no thumbnail, the browser tries to show the file itself. */
function Picture({ file }: PreviewProps): ReactNode {
  const t = useTexts().data.files.gallery;
  const address = useFileAddress(file);
  const [isLoaded, setLoaded] = useState(false);
  const [failures, setFailures] = useState(0);
  if (failures > 1 || address.isError) return <Text c="dimmed">{t.failed}</Text>;
  const isAnimation = file.contentType === 'image/gif' && file.size <= maxAnimationBytes;
  const showsFile = isAnimation || failures > 0;
  return (
    <>
      {!isLoaded && (
        <Text className={classes.loading} c="dimmed">
          {t.loading}
        </Text>
      )}
      {address.data && (
        <img
          className={classes.picture}
          src={showsFile ? address.data.url : buildThumbnailUrl(address.data.url, screenSize)}
          alt={file.name}
          draggable={false}
          data-loaded={isLoaded || undefined}
          onLoad={() => setLoaded(true)}
          onError={() => setFailures((count) => count + (isAnimation ? 2 : 1))}
        />
      )}
    </>
  );
}

/** The viewer of the browser. Some browsers, such as those of phones, have none. */
function Pdf({ file }: PreviewProps): ReactNode {
  const t = useTexts().data.files.gallery;
  const address = useFileAddress(file);
  if (address.isError) return <Text c="dimmed">{t.failed}</Text>;
  if (!navigator.pdfViewerEnabled) return <Text c="dimmed">{t.noPdfViewer}</Text>;
  return address.data && <iframe className={classes.frame} src={address.data.url} title={file.name} />;
}

/** The beginning of a text. HTML and other markup are shown as text too. */
function PlainText({ file }: PreviewProps): ReactNode {
  const t = useTexts().data.files.gallery;
  const text = useApiQuery(['file-text', file.id], async (client, signal) => {
    const headers = { range: `bytes=0-${maxTextBytes - 1}` };
    // An empty file has no range.
    if (file.size === 0) return '';
    const reply = await client.send(`files/${file.id}`, { headers, signal });
    return decodeText(await reply.arrayBuffer());
  });
  if (text.isError) return <Text c="dimmed">{t.failed}</Text>;
  if (text.data === undefined) return <Text c="dimmed">{t.loading}</Text>;
  return (
    <div className={classes.document}>
      <textarea className={classes.text} readOnly wrap="soft" aria-label={file.name} value={text.data} />
      {file.size > maxTextBytes && <Text c="dimmed">{t.beginning}</Text>}
    </div>
  );
}

/** UTF-8, or UTF-16 with a byte order mark. */
function decodeText(bytes: ArrayBuffer): string {
  const [first, second] = new Uint8Array(bytes);
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(bytes);
}

function Player({ file }: PreviewProps): ReactNode {
  const t = useTexts().data.files.gallery;
  const address = useFileAddress(file);
  const [hasFailed, setFailed] = useState(false);
  if (hasFailed || address.isError) return <Text c="dimmed">{t.failed}</Text>;
  if (!address.data) return <Text c="dimmed">{t.loading}</Text>;
  const properties = {
    src: address.data.url,
    'aria-label': file.name,
    controls: true,
    preload: 'metadata',
    onError: () => setFailed(true),
  } as const;
  if (findPreviewKind(file) === 'audio') return <audio className={classes.audio} {...properties} />;
  return <video className={classes.video} {...properties} />;
}
