/** Pictures on the whole screen: arrow keys and swipes move between them, Escape closes. */
import { Modal, Text } from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import { buildThumbnailUrl, type StoredFile } from '@tablinum/client';
import { type PointerEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import classes from './gallery.module.css';
import type { OpenGallery } from './gallery-state.ts';
import { useFileAddress } from './use-file-address.ts';
import { useFileDownload } from './use-file-download.ts';

/** Pixels of a thumbnail that fills the screen. */
const screenSize = { width: 2048, height: 2048 };
/** A larger animation is not loaded; its first picture is shown. */
const maxAnimationBytes = 8 * 1024 * 1024;
/** Pixels that a finger moves to the side in a swipe. */
const swipeDistance = 48;

interface GalleryProps {
  readonly open: OpenGallery;
  readonly show: (index: number) => void;
  readonly close: () => void;
}

export function Gallery({ open: { pictures, index }, show, close }: GalleryProps): ReactNode {
  const t = useTexts().data.files;
  const download = useFileDownload();
  const picture = pictures[index];
  const move = (steps: number): void => show(Math.min(pictures.length - 1, Math.max(0, index + steps)));
  const swipe = useSwipe(move);
  useReturnedFocus();
  useWindowEvent('keydown', (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -pictures.length, End: pictures.length }[event.key];
    if (steps === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    move(steps);
  });
  if (!picture) return null;
  return (
    <Modal
      opened
      onClose={close}
      fullScreen
      withCloseButton={false}
      returnFocus={false}
      padding={0}
      attributes={{ content: { 'aria-label': t.gallery.title(picture.name) } }}
      classNames={{ content: classes.content ?? '', body: classes.body ?? '' }}
    >
      <header className={classes.bar}>
        <Text className={classes.name} size="sm" title={picture.name}>
          {picture.name}
        </Text>
        <span role="status" className={classes.position}>
          {pictures.length > 1 && t.gallery.position(index + 1, pictures.length)}
        </span>
        <IconButton icon="download" label={t.download(picture.name)} onClick={() => void download(picture)} />
        <IconButton icon="x" label={t.gallery.close} onClick={close} />
      </header>
      <div className={classes.stage} {...swipe}>
        <Picture key={picture.id} file={picture} />
        {pictures.length > 1 && (
          <>
            <MoveButton side="left" label={t.gallery.previous} isEnd={index === 0} move={() => move(-1)} />
            <MoveButton
              side="right"
              label={t.gallery.next}
              isEnd={index === pictures.length - 1}
              move={() => move(1)}
            />
          </>
        )}
      </div>
    </Modal>
  );
}

interface MoveButtonProps {
  readonly side: 'left' | 'right';
  readonly label: string;
  /** No picture follows. The button keeps the focus. */
  readonly isEnd: boolean;
  readonly move: () => void;
}

function MoveButton({ side, label, isEnd, move }: MoveButtonProps): ReactNode {
  return (
    <span className={classes.move} data-side={side}>
      <IconButton
        icon={side === 'left' ? 'chevronLeft' : 'chevronRight'}
        label={label}
        variant="default"
        {...(isEnd && { 'aria-disabled': true })}
        onClick={move}
      />
    </span>
  );
}

/** The picture in the size of a screen. If there is no thumbnail, the browser tries to show the file itself. */
function Picture({ file }: { file: StoredFile }): ReactNode {
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

/** Mantine only returns the focus of a dialog that is rendered before it opens. */
function useReturnedFocus(): void {
  const [opener] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      if (opener instanceof HTMLElement) opener.focus({ preventScroll: true });
    },
    [opener],
  );
}

interface SwipeHandlers {
  readonly onPointerDown: (event: PointerEvent) => void;
  readonly onPointerUp: (event: PointerEvent) => void;
  readonly onPointerCancel: () => void;
}

/** A swipe of one finger to the side. */
function useSwipe(move: (steps: number) => void): SwipeHandlers {
  const start = useRef<{ readonly x: number; readonly y: number } | null>(null);
  return {
    onPointerDown: ({ pointerType, isPrimary, clientX, clientY }) => {
      start.current = pointerType === 'touch' && isPrimary ? { x: clientX, y: clientY } : null;
    },
    onPointerUp: ({ clientX, clientY }) => {
      const [x, y] = start.current ? [clientX - start.current.x, clientY - start.current.y] : [0, 0];
      start.current = null;
      if (Math.abs(x) >= swipeDistance && Math.abs(x) > 2 * Math.abs(y)) move(x < 0 ? 1 : -1);
    },
    onPointerCancel: () => {
      start.current = null;
    },
  };
}
