/** Shows a picture of the message in the editor, with the bytes that were attached. */
import type { Node } from 'prosemirror-model';
import type { NodeView } from 'prosemirror-view';

/** Where the editor gets the pictures of a message from. */
export interface PictureSource {
  /** Whether the message has a picture with this content id. */
  readonly has: (cid: string) => boolean;
  /** The bytes of a picture; null if it cannot be loaded. */
  readonly load: (cid: string) => Promise<Blob | null>;
}

export class PictureView implements NodeView {
  readonly dom: HTMLImageElement;
  #address: string | null = null;
  #isDestroyed = false;

  constructor(node: Node, pictures: PictureSource) {
    this.dom = document.createElement('img');
    this.dom.alt = node.attrs['alt'] as string;
    if (node.attrs['width'] !== null) this.dom.width = node.attrs['width'] as number;
    void this.#show(node.attrs['cid'] as string, pictures);
  }

  async #show(cid: string, pictures: PictureSource): Promise<void> {
    const bytes = await pictures.load(cid);
    if (bytes === null || this.#isDestroyed) return;
    this.#address = URL.createObjectURL(bytes);
    this.dom.src = this.#address;
  }

  destroy(): void {
    this.#isDestroyed = true;
    if (this.#address !== null) URL.revokeObjectURL(this.#address);
  }
}
