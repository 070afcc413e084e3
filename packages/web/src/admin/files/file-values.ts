/** Values of fields of the type `file`, and what such a field accepts. */
import type { Field, StoredFile } from '@tablinum/client';
import { InvalidInput } from '../records/invalid-input.ts';

/** The value of a field while files are being uploaded. The form cannot be saved with it. */
export class UnfinishedUpload extends InvalidInput {
  readonly files: readonly StoredFile[];
  constructor(files: readonly StoredFile[]) {
    super('');
    this.files = files;
  }
}

/** The files of a value. */
export function toFiles(value: unknown): readonly StoredFile[] {
  if (value instanceof UnfinishedUpload) return value.files;
  return [value]
    .flat()
    .filter((each): each is StoredFile => typeof each === 'object' && each !== null && 'url' in each);
}

/** The value of a field with these files. */
export function toFileValue(field: Field, files: readonly StoredFile[]): unknown {
  return field.multiple ? files : (files[0] ?? null);
}

/** Maximum number of files of a field that sets none. */
const defaultMaxCount = 100;

export function getMaxCount(field: Field): number {
  return field.multiple ? (field.maxCount ?? defaultMaxCount) : 1;
}

/** Whether a field accepts a media type. */
export function acceptsType({ accept }: Field, type: string): boolean {
  if (!accept || accept.length === 0) return true;
  const [plain = ''] = type.toLowerCase().split(';');
  return accept.some((each) =>
    each.endsWith('/*') ? plain.startsWith(each.slice(0, -1).toLowerCase()) : plain.trim() === each.toLowerCase(),
  );
}

/** Pictures of which the server makes thumbnails. SVG is always a download. */
const pictureTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/tiff']);
/** The server makes no thumbnails of larger pictures. */
const maxPictureBytes = 64 * 1024 * 1024;

/** Whether the file is a raster picture, of which a thumbnail is shown. */
export function isPicture({ contentType, size }: StoredFile): boolean {
  return pictureTypes.has(contentType) && size <= maxPictureBytes;
}

/** What the gallery can show of a file. */
export type PreviewKind = 'picture' | 'pdf' | 'text' | 'audio' | 'video';

/** Media types that are text, in addition to `text/*`. */
const textTypes = /^(?:text\/.+|application\/(?:json|x-ndjson|(?:.+\+)?xml|(?:.+\+)?json|yaml|toml|sql|javascript))$/;
const kindsByType: readonly (readonly [PreviewKind, RegExp])[] = [
  ['pdf', /^application\/pdf$/],
  ['audio', /^audio\//],
  ['video', /^video\//],
  ['text', textTypes],
];

/** How the gallery shows a file; null: it can only be downloaded. */
export function findPreviewKind(file: StoredFile): PreviewKind | null {
  if (isPicture(file)) return 'picture';
  return kindsByType.find(([, types]) => types.test(file.contentType))?.[0] ?? null;
}
