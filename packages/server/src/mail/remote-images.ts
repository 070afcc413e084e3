import type { OutboundClient } from '../base/outbound.ts';
import { OutboundFailure } from '../base/outbound-resolver.ts';
import { ApiError } from '../protocol/api-error.ts';
import { mailLimits } from '../protocol/mail-limits.ts';
import { sniffType } from './parse/sniff-type.ts';

/** Image types that a browser shows without running code. */
export const rasterTypes: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

export interface RemoteImage {
  readonly type: string;
  readonly bytes: Buffer;
}

const headers = { accept: 'image/*', 'user-agent': 'Mozilla/5.0 (compatible; Tablinum)' };

/**
 * Fetches remote images for readers. The remote host only sees this server, without cookies and without a referrer, so it does not
 * learn who reads the message. Only bytes that are a raster image are returned.
 */
export class RemoteImages {
  readonly #client: Pick<OutboundClient, 'get'>;
  #running = 0;

  constructor(client: Pick<OutboundClient, 'get'>) {
    this.#client = client;
  }

  /** @throws ApiError `IMAGE_UNAVAILABLE` where the image cannot be fetched or is no image; `BUSY` where too many are being fetched. */
  async fetch(url: string): Promise<RemoteImage> {
    if (this.#running >= mailLimits.remoteImages)
      throw new ApiError('BUSY', 'Too many images are being fetched now. Try again later.', { retryAfter: 1 });
    this.#running += 1;
    try {
      const maxBytes = mailLimits.remoteImageBytes;
      const { status, bytes } = await this.#client.get(url, headers, maxBytes);
      if (status !== 200) throw unavailable('The remote server does not have the image.');
      if (bytes.length > maxBytes) throw unavailable('The image is too large.');
      const type = sniffType(bytes);
      if (type === null || !rasterTypes.includes(type)) throw unavailable('The remote file is no image.');
      return { type, bytes };
    } catch (error) {
      // The reason is not reported: it would reveal what exists inside the private network.
      throw error instanceof OutboundFailure ? unavailable('The image could not be fetched.') : error;
    } finally {
      this.#running -= 1;
    }
  }
}

const unavailable = (message: string): ApiError => new ApiError('IMAGE_UNAVAILABLE', message);
