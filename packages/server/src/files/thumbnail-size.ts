import { ApiError } from '../protocol/api-error.ts';

/** The pixels of the sides of thumbnails. Other numbers are rounded up, so that a picture has a limited number of thumbnails. */
export const thumbnailSides = [32, 64, 128, 256, 512, 1024, 2048] as const;
export const maxThumbnailSide = 2048;

/** `contain`: the whole picture within the box; `cover`: the box is filled, and what is outside of it is cut off. */
export const thumbnailFits = ['contain', 'cover'] as const;

/** A box of pixels, and how the picture is fitted into it. */
export interface ThumbnailSize {
  readonly width: number;
  readonly height: number;
  readonly fit: (typeof thumbnailFits)[number];
}

/**
 * Reads `width`, `height` and `fit`: null without any of them. A missing side is not limited, except by {@link maxThumbnailSide}.
 *
 *     {width: '100'} is a box of 128 × 2048 pixels
 *
 * @throws ApiError `PARAMETER_INVALID`.
 */
export function parseThumbnailSize(parameters: Readonly<Record<string, unknown>>): ThumbnailSize | null {
  const { width, height, fit = 'contain' } = parameters;
  if (width === undefined && height === undefined) {
    if (parameters['fit'] === undefined) return null;
    throw new ApiError('PARAMETER_INVALID', '"fit" belongs to a thumbnail. Give "width" or "height" too.');
  }
  if (fit !== 'contain' && fit !== 'cover')
    throw new ApiError('PARAMETER_INVALID', '"fit" must be "contain" or "cover".');
  if (fit === 'cover' && (width === undefined || height === undefined))
    throw new ApiError('PARAMETER_INVALID', '"fit=cover" needs "width" and "height".');
  return { width: parseSide('width', width), height: parseSide('height', height), fit };
}

function parseSide(name: string, text: unknown): number {
  if (text === undefined) return maxThumbnailSide;
  const wanted = /^\d{1,4}$/.test(String(text)) ? Number(text) : 0;
  const side = thumbnailSides.find((each) => each >= wanted);
  if (wanted < 1 || side === undefined)
    throw new ApiError('PARAMETER_INVALID', `"${name}" must be a number of pixels from 1 to ${maxThumbnailSide}.`);
  return side;
}

/** The name of a size: `cover-256x128`. */
export function formatThumbnailSize({ width, height, fit }: ThumbnailSize): string {
  return `${fit}-${width}x${height}`;
}
