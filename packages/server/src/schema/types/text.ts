import { defineTextType } from './string.ts';

/** Long text. Its options are those of string fields. */
export const textType = defineTextType('text', 10_000_000);
