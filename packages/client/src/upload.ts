/** Sends bytes and reports the progress. */

/** Receives the number of sent bytes and the total. */
export type Progress = (sent: number, total: number) => void;

interface UploadInit {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The part of the browser's API that is used. */
interface XmlHttpRequest {
  readonly upload: { onprogress: ((event: { readonly loaded: number }) => void) | null };
  readonly status: number;
  readonly response: unknown;
  responseType: string;
  onload: (() => void) | null;
  onerror: (() => void) | null;
  onabort: (() => void) | null;
  onloadend: (() => void) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: Blob): void;
  abort(): void;
}

/** Like fetch, with progress. Browsers report it only by XMLHttpRequest; elsewhere, bytes are counted as they are read. */
export function upload(url: string, init: UploadInit, body: Blob, progress: Progress): Promise<Response> {
  const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => XmlHttpRequest };
  return XMLHttpRequest
    ? sendByXmlHttpRequest(new XMLHttpRequest(), { url, init, body, progress })
    : fetchWithProgress(url, init, body, progress);
}

/** Bytes between two reports of the progress. */
const chunkBytes = 64 * 1024;

function fetchWithProgress(url: string, init: UploadInit, body: Blob, progress: Progress): Promise<Response> {
  let sent = 0;
  const chunks = new ReadableStream<Uint8Array>({
    async pull(controller) {
      progress(sent, body.size);
      if (sent === body.size) return controller.close();
      const chunk = new Uint8Array(await body.slice(sent, sent + chunkBytes).arrayBuffer());
      sent += chunk.byteLength;
      controller.enqueue(chunk);
    },
  });
  // A stream has no length, so the header must be set.
  const headers = { 'content-length': String(body.size), ...init.headers };
  return fetch(url, { ...init, headers, body: chunks, duplex: 'half' } as RequestInit);
}

interface Upload {
  readonly url: string;
  readonly init: UploadInit;
  readonly body: Blob;
  readonly progress: Progress;
}

function sendByXmlHttpRequest(request: XmlHttpRequest, { url, init, body, progress }: Upload): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { signal } = init;
    const abort = (): void => request.abort();
    request.open(init.method, url);
    request.responseType = 'blob';
    for (const [name, value] of Object.entries(init.headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded }) => progress(Math.min(loaded, body.size), body.size);
    request.onload = () => resolve(toResponse(request));
    request.onerror = () => reject(new TypeError('The request failed.'));
    request.onabort = () => reject((signal?.reason as Error) ?? new DOMException('Aborted', 'AbortError'));
    request.onloadend = () => signal?.removeEventListener('abort', abort);
    if (signal?.aborted) return reject(signal.reason as Error);
    signal?.addEventListener('abort', abort);
    request.send(body);
  });
}

function toResponse(request: XmlHttpRequest): Response {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().trim().split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const empty = [204, 205, 304].includes(request.status);
  return new Response(empty ? null : (request.response as Blob), { status: request.status, headers });
}
