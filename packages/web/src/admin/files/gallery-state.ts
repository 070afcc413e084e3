import type { StoredFile } from '@tablinum/client';
import { ValueStore } from '../../ui/store.ts';
import { findPreviewKind } from './file-values.ts';

/** The files of an open gallery, and which one it shows. */
export interface OpenGallery {
  readonly files: readonly StoredFile[];
  readonly index: number;
}

/** Null while no gallery is open. */
export const galleryState = new ValueStore<OpenGallery | null>(null);

/** Shows a file on the whole screen. @param files the files of its field; those without a preview are left out. */
export function openGallery(files: readonly StoredFile[], file: StoredFile): void {
  const shown = files.filter((each) => findPreviewKind(each) !== null);
  galleryState.set({ files: shown, index: Math.max(0, shown.indexOf(file)) });
}
