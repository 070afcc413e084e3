import type { StoredFile } from '@tablinum/client';
import { ValueStore } from '../../ui/store.ts';
import { isPicture } from './file-values.ts';

/** The pictures of an open gallery, and which one it shows. */
export interface OpenGallery {
  readonly pictures: readonly StoredFile[];
  readonly index: number;
}

/** Null while no gallery is open. */
export const galleryState = new ValueStore<OpenGallery | null>(null);

/** Shows a picture on the whole screen. @param files the files of its field; those that are no pictures are left out. */
export function openGallery(files: readonly StoredFile[], file: StoredFile): void {
  const pictures = files.filter(isPicture);
  galleryState.set({ pictures, index: Math.max(0, pictures.indexOf(file)) });
}
