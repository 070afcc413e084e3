/** The files that are being added to a draft, with their progress. */
import { ObservableState } from '../../ui/store.ts';
import type { Attachment } from '../mail-types.ts';

/** The result of attaching a file. The error is null if the draft has an unresolved conflict, or the upload was cancelled. */
export type AttachResult =
  | { readonly done: true }
  | { readonly done: false; readonly error: Error | null; readonly isCancelled?: boolean };

export interface AttachOptions {
  /** The name by which the HTML of the message shows the file. */
  readonly contentId?: string;
  readonly signal?: AbortSignal;
  readonly progress?: (sent: number) => void;
}

export interface Upload {
  readonly id: number;
  readonly name: string;
  readonly size: number;
  readonly sent: number;
  readonly cancel: () => void;
}

/** Media types that are shown in the text. Other pictures are attached like any file. */
const pictureTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const picturePrefix = 'pasted-';

export function isPicture({ type }: File): boolean {
  return pictureTypes.has(type);
}

/** The files of a message without the pictures that were added to its text and deleted from it later. */
export function listUsedFiles(files: readonly Attachment[], html: string): readonly Attachment[] {
  return files.filter(({ contentId }) => {
    const name = contentId?.replace(/^<|>$/g, '') ?? '';
    return !name.startsWith(picturePrefix) || html.includes(`data-cid="${name}"`);
  });
}

export class DraftUploads extends ObservableState<readonly Upload[]> {
  readonly #attach: (file: File, options: AttachOptions) => Promise<AttachResult>;
  /** Pictures that were added to the text, by content id. */
  readonly #pictures = new Map<string, File>();
  #lastId = 0;

  constructor(attach: (file: File, options: AttachOptions) => Promise<AttachResult>) {
    super([]);
    this.#attach = attach;
  }

  /** A picture that was added to the text in this session; null for others. */
  findPicture(contentId: string): File | null {
    return this.#pictures.get(contentId) ?? null;
  }

  /** Adds a picture that the text shows. @returns its content id, which can be used at once. */
  addPicture(file: File): { readonly contentId: string; readonly attached: Promise<AttachResult> } {
    const contentId = `${picturePrefix}${crypto.randomUUID()}@draft`;
    this.#pictures.set(contentId, file);
    return { contentId, attached: this.add(file, { contentId }) };
  }

  async add(file: File, options: AttachOptions = {}): Promise<AttachResult> {
    this.#lastId += 1;
    const id = this.#lastId;
    const controller = new AbortController();
    const upload: Upload = { id, name: file.name, size: file.size, sent: 0, cancel: () => controller.abort() };
    this.replaceState([...this.state, upload]);
    const progress = (sent: number): void =>
      this.replaceState(this.state.map((each) => (each.id === id ? { ...each, sent } : each)));
    const result = await this.#attach(file, { ...options, signal: controller.signal, progress });
    this.replaceState(this.state.filter((each) => each.id !== id));
    return result;
  }
}

/** Whether two files have the same name and size. */
export function isSameFile(
  one: Pick<Attachment, 'filename' | 'size'>,
  other: Pick<Attachment, 'filename' | 'size'>,
): boolean {
  return one.filename === other.filename && one.size === other.size;
}
