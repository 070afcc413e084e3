/** The pictures in the text of a draft: the bytes of attachments that the HTML names by their content id. */
import type { Client } from '@tablinum/client';
import type { Attachment } from '../mail-types.ts';
import { stripBrackets } from '../thread/mail-images.ts';
import type { DraftSession } from './draft-session.ts';
import type { PictureSource } from './editor/picture-view.ts';

export class DraftPictures implements PictureSource {
  readonly #client: Client;
  readonly #session: DraftSession;

  constructor(client: Client, session: DraftSession) {
    this.#client = client;
    this.#session = session;
  }

  has(cid: string): boolean {
    return this.#session.uploads.findPicture(cid) !== null || this.#find(cid) !== undefined;
  }

  async load(cid: string): Promise<Blob | null> {
    const uploaded = this.#session.uploads.findPicture(cid);
    if (uploaded) return uploaded;
    const found = this.#find(cid);
    // Only types that the server has recognised in the bytes are shown.
    if (!found?.sniffedType?.startsWith('image/')) return null;
    try {
      const bytes = await (await this.#client.send(`attachments/${found.id}`, {})).blob();
      return new Blob([bytes], { type: found.sniffedType });
    } catch {
      return null;
    }
  }

  #find(cid: string): Attachment | undefined {
    const { attachments } = this.#session.snapshot();
    return attachments.find(({ contentId }) => contentId !== null && stripBrackets(contentId) === cid);
  }
}
