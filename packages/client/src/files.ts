import type { Key } from './dto.ts';
import { type ActionOptions, Records } from './records.ts';

/** A file as records show it. */
export interface StoredFile {
  readonly id: number;
  readonly name: string;
  readonly contentType: string;
  /** Bytes. */
  readonly size: number;
  /** Of a picture, in pixels. */
  readonly width: number | null;
  readonly height: number | null;
  /** The path of the bytes on the server. */
  readonly url: string;
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

  /** The bytes of a file. */
  bytes(file: Key, options: ActionOptions = {}): Promise<Response> {
    return this.transport.send(`${this.path}/${encodeURIComponent(file)}`, options);
  }
}
