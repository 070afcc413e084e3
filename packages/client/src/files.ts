import type { Key, StoredFile } from './dto.ts';
import { buildQueryString } from './query-string.ts';
import { type ActionOptions, Records } from './records.ts';

/**
 * The size of a thumbnail: a box in pixels. Each side is rounded up to a power of two from 32 to 2,048. The thumbnail
 * is a WebP picture, which is never larger than the file. If no thumbnail can be made of a file, the request is refused
 * (`THUMBNAIL_UNAVAILABLE`).
 */
export interface ThumbnailSize {
  readonly width?: number;
  readonly height?: number;
  /** `contain` (default): the whole picture within the box. `cover`: the box is filled; needs both sides. */
  readonly fit?: 'contain' | 'cover';
}

/**
 * The address of a thumbnail.
 *
 *     const { url } = await client.files.sign(file.id);
 *     image.src = buildThumbnailUrl(url, { width: 256, height: 256, fit: 'cover' });
 *
 * @param url of the file, also a signed one.
 */
export function buildThumbnailUrl(url: string, { width, height, fit }: ThumbnailSize): string {
  const query = buildQueryString({ width, height, fit });
  return url + (url.includes('?') ? query.replace('?', '&') : query);
}

/** How the bytes of a file are read. */
export interface BytesOptions extends ActionOptions {
  /** Absent: the file itself. */
  readonly thumbnail?: ThumbnailSize;
}

/** Files: the actions of bytes, in addition to the record actions of `files`. */
export class Files extends Records {
  /** Uploads files. A record must refer to them within a day. */
  async upload(
    files: readonly { readonly name: string; readonly content: Blob }[],
    options: ActionOptions = {},
  ): Promise<readonly StoredFile[]> {
    const body = new FormData();
    for (const { name, content } of files) body.append('file', content, name);
    return (await this.transport.call<StoredFile[]>(`${this.path}:upload`, { ...options, method: 'POST', body })).data;
  }

  /** An address of a file that works without a header. @param expiresIn seconds. */
  async sign(
    file: Key,
    expiresIn?: number,
    options: ActionOptions = {},
  ): Promise<{ readonly url: string; readonly expiresAt: string }> {
    const query = { filterByTk: file, ...(expiresIn !== undefined && { expiresIn }) };
    const request = { ...options, method: 'POST' as const, query };
    return (await this.transport.call<{ url: string; expiresAt: string }>(`${this.path}:sign`, request)).data;
  }

  /** The bytes of a file, or of a thumbnail of it. */
  bytes(file: Key, { thumbnail, ...options }: BytesOptions = {}): Promise<Response> {
    const path = `${this.path}/${encodeURIComponent(file)}`;
    return this.transport.send(path, { ...options, ...(thumbnail && { query: thumbnail }) });
  }
}
