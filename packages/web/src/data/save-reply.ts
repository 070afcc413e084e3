/** Saves the reply to a download. Browsers with a file picker write it to the disk while it arrives. */
import { saveFile } from '../ui/save-file.ts';

/** The file picker of Chromium. TypeScript does not declare it. */
type FilePicker = (options: { readonly suggestedName: string }) => Promise<FileSystemFileHandle>;

/**
 * @param onReceived is called with the number of bytes received so far.
 * @returns whether a file was saved; false if the user closed the file picker.
 * @throws the error of the connection if the reply ends early. A file that was picked then stays as it was.
 */
export async function saveReply(response: Response, onReceived: (bytes: number) => void): Promise<boolean> {
  const filename = readFilename(response);
  const picked = await pickFile(filename);
  if (picked === 'cancelled') {
    await response.body?.cancel();
    return false;
  }
  const bytes = response.body!.pipeThrough(countBytes(onReceived));
  if (picked === null) {
    const type = response.headers.get('content-type') ?? '';
    saveFile(await new Response(bytes, { headers: { 'content-type': type } }).blob(), filename);
    return true;
  }
  // An early end aborts the writer, which then leaves the file as it was.
  await bytes.pipeTo(await picked.createWritable());
  return true;
}

/** Null in browsers without a file picker, and if too much time has passed since the click. */
async function pickFile(suggestedName: string): Promise<FileSystemFileHandle | 'cancelled' | null> {
  const { showSaveFilePicker } = window as { showSaveFilePicker?: FilePicker };
  if (!showSaveFilePicker) return null;
  try {
    return await showSaveFilePicker.call(window, { suggestedName });
  } catch (error) {
    return (error as Error).name === 'AbortError' ? 'cancelled' : null;
  }
}

/** The name in Content-Disposition (RFC 6266). */
function readFilename({ headers }: Response): string {
  const encoded = /filename\*=UTF-8''([^;]+)/.exec(headers.get('content-disposition') ?? '')?.[1];
  return encoded === undefined ? 'download' : decodeURIComponent(encoded);
}

function countBytes(
  onReceived: (bytes: number) => void,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let received = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      received += chunk.length;
      onReceived(received);
      controller.enqueue(chunk);
    },
  });
}
