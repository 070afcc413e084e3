/** Files on the whole screen: arrow keys and swipes move between them, Escape closes. */
import { Modal, Text } from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import { type PointerEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useTexts } from '../../ui/i18n/texts.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { FilePreview } from './file-preview.tsx';
import classes from './gallery.module.css';
import type { OpenGallery } from './gallery-state.ts';
import { useFileDownload } from './use-file-download.ts';

/** Pixels that a finger moves to the side in a swipe. */
const swipeDistance = 48;

interface GalleryProps {
  readonly open: OpenGallery;
  readonly show: (index: number) => void;
  readonly close: () => void;
}

export function Gallery({ open: { files, index }, show, close }: GalleryProps): ReactNode {
  const t = useTexts().data.files;
  const download = useFileDownload();
  const file = files[index];
  const move = (steps: number): void => show(Math.min(files.length - 1, Math.max(0, index + steps)));
  const swipe = useSwipe(move);
  useReturnedFocus();
  useWindowEvent('keydown', (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -files.length, End: files.length }[event.key];
    if (steps === undefined || event.altKey || event.ctrlKey || event.metaKey || usesKey(event)) return;
    event.preventDefault();
    move(steps);
  });
  if (!file) return null;
  return (
    <Modal
      opened
      onClose={close}
      fullScreen
      withCloseButton={false}
      returnFocus={false}
      padding={0}
      attributes={{ content: { 'aria-label': t.gallery.title(file.name) } }}
      classNames={{ content: classes.content ?? '', body: classes.body ?? '' }}
    >
      <header className={classes.bar}>
        <Text className={classes.name} size="sm" title={file.name}>
          {file.name}
        </Text>
        <span role="status" className={classes.position}>
          {files.length > 1 && t.gallery.position(index + 1, files.length)}
        </span>
        <IconButton icon="download" label={t.download(file.name)} onClick={() => void download(file)} />
        <IconButton icon="x" label={t.gallery.close} onClick={close} />
      </header>
      <div className={classes.stage} {...swipe}>
        <FilePreview key={file.id} file={file} />
        {files.length > 1 && (
          <>
            <MoveButton side="left" label={t.gallery.previous} isEnd={index === 0} move={() => move(-1)} />
            <MoveButton side="right" label={t.gallery.next} isEnd={index === files.length - 1} move={() => move(1)} />
          </>
        )}
      </div>
    </Modal>
  );
}

/** Players use the arrow keys themselves, and texts the keys Home and End. */
function usesKey({ target, key }: KeyboardEvent): boolean {
  if (target instanceof HTMLMediaElement) return true;
  return target instanceof HTMLTextAreaElement && (key === 'Home' || key === 'End');
}

interface MoveButtonProps {
  readonly side: 'left' | 'right';
  readonly label: string;
  /** No file follows. The button keeps the focus. */
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
