/**
 * Loads the images of a mail and puts them into its frame as blobs: attached images at once, remote images on request.
 * All of them are fetched from this server with the login of the user; the frame itself loads nothing.
 */
import type { Client } from '@tablinum/client';
import type { Attachment } from '../mail-types.ts';

/** Parallel requests of remote images. The server fetches at most eight at once for an application. */
const maxConcurrent = 3;

export class MailImages {
  /** The document or shadow tree with the images. */
  readonly #root: ParentNode;
  readonly #client: Client;
  readonly #addresses: string[] = [];
  #isEnded = false;

  constructor(root: ParentNode, client: Client) {
    this.#root = root;
    this.#client = client;
  }

  /** Shows the attached images that the mail references with `cid:`. */
  async showParts(attachments: readonly Attachment[]): Promise<void> {
    const tasks = [...this.#images('data-cid')].map(async ([contentId, images]) => {
      const part = attachments.find(
        (each) => each.contentId !== null && stripBrackets(each.contentId) === stripBrackets(contentId),
      );
      if (!part?.sniffedType?.startsWith('image/')) return;
      await this.#show(images, `attachments/${part.id}`, {}, part.sniffedType);
    });
    await Promise.allSettled(tasks);
  }

  /** Loads the remote images, each URL once. @returns how many failed. */
  async showRemote(email: number): Promise<number> {
    const queue = [...this.#images('data-src')];
    let failed = 0;
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next && !this.#isEnded; next = queue.shift()) {
        const [url, images] = next;
        await this.#show(images, 'emails:image', { filterByTk: email, url }).catch(() => {
          failed += 1;
        });
      }
    };
    await Promise.all(Array.from({ length: maxConcurrent }, work));
    return failed;
  }

  /** Releases the blobs. */
  end(): void {
    this.#isEnded = true;
    for (const address of this.#addresses) URL.revokeObjectURL(address);
  }

  /** @param type the media type, if it is known better than from the response. */
  async #show(images: readonly HTMLImageElement[], path: string, query: object, type?: string): Promise<void> {
    const bytes = await (await this.#client.send(path, { query })).blob();
    if (this.#isEnded) return;
    const address = URL.createObjectURL(type === undefined ? bytes : new Blob([bytes], { type }));
    this.#addresses.push(address);
    for (const image of images) image.src = address;
  }

  #images(attribute: string): ReadonlyMap<string, HTMLImageElement[]> {
    const found = new Map<string, HTMLImageElement[]>();
    for (const image of this.#root.querySelectorAll<HTMLImageElement>(`img[${attribute}]`)) {
      const named = image.getAttribute(attribute) ?? '';
      found.set(named, [...(found.get(named) ?? []), image]);
    }
    return found;
  }
}

/** A content id without its angle brackets. */
export function stripBrackets(contentId: string): string {
  return contentId.replace(/^<|>$/g, '');
}
