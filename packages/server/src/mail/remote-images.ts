import { type OutboundClient, OutboundFailure } from '../base/outbound.ts';
import { ApiError } from '../protocol/api-error.ts';
import { mailLimits } from '../protocol/mail-limits.ts';
import { sniffType } from './parse/sniff-type.ts';

/** Images that a browser shows without running anything. */
export const rasterTypes: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

export interface RemoteImage {
  readonly type: string;
  readonly bytes: Buffer;
}

const headers = { accept: 'image/*', 'user-agent': 'Mozilla/5.0 (compatible; Tablinum)' };

/**
 * Images of other places, fetched for a reader: whoever holds them sees the server ask, without cookies, without where it was
 * shown, and not who looked. What comes back is shown only if its bytes are a raster image.
 */
export class RemoteImages {
  readonly #client: Pick<OutboundClient, 'get'>;
  #running = 0;

  constructor(client: Pick<OutboundClient, 'get'>) {
    this.#client = client;
  }

  /** @throws ApiError 404 where it cannot be had, or is no image; 503 where too many are under way. */
  async fetch(url: string): Promise<RemoteImage> {
    if (this.#running >= mailLimits.remoteImages)
      throw new ApiError('BUSY', 'Too many images are being fetched at this moment; try again.', { retryAfter: 1 });
    this.#running += 1;
    try {
      const maxBytes = mailLimits.remoteImageBytes;
      const { status, bytes } = await this.#client.get(url, headers, maxBytes);
      if (status !== 200) throw unavailable('The image is not there.');
      if (bytes.length > maxBytes) throw unavailable('The image is too large.');
      const type = sniffType(bytes);
      if (type === null || !rasterTypes.includes(type)) throw unavailable('What is there is no image.');
      return { type, bytes };
    } catch (error) {
      // What went wrong between the servers is not told: it would show what there is inside the network.
      throw error instanceof OutboundFailure ? unavailable('The image cannot be had.') : error;
    } finally {
      this.#running -= 1;
    }
  }
}

const unavailable = (message: string): ApiError => new ApiError('IMAGE_UNAVAILABLE', message);
