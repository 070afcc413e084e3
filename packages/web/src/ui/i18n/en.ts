import { common } from './en/common.ts';
import { data } from './en/data.ts';
import { shell } from './en/shell.ts';

/**
 * The English texts of the interface except those of e-mail and access (`inbox-texts.ts`, `access-texts.ts`). Other
 * languages are translated from them.
 */
export const en = { language: 'en', common, shell, data };
/** The texts that every language must have. */
export type Texts = typeof en;
