import type { Client, StoredFile } from '@tablinum/client';
import { createIdempotencyKey } from '../../data/idempotency-key.ts';

interface UploadOptions {
  readonly signal: AbortSignal;
  /** Receives the number of sent bytes. */
  readonly onProgress: (sent: number) => void;
}

/** Uploads one file. The form data is built as a Blob, because the client reports the progress of a Blob only. */
export async function uploadFile(
  client: Client,
  file: File,
  { signal, onProgress }: UploadOptions,
): Promise<StoredFile> {
  const boundary = `tablinum-${createIdempotencyKey()}`;
  const name = file.name.replace(/[\r\n"]/g, encodeURIComponent); // as browsers write names of files into forms
  const head = [
    `--${boundary}`,
    `Content-Disposition: form-data; name="file"; filename="${name}"`,
    `Content-Type: ${file.type || 'application/octet-stream'}`,
    '',
    '',
  ].join('\r\n');
  const body = new Blob([head, file, `\r\n--${boundary}--\r\n`], { type: `multipart/form-data; boundary=${boundary}` });
  const { data } = await client.call<StoredFile[]>('files:upload', {
    method: 'POST',
    body,
    signal,
    progress: onProgress,
  });
  return data[0]!;
}
