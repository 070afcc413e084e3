import { common } from './en/common.ts';
import { data } from './en/data.ts';
import { shell } from './en/shell.ts';

/**
 * Every text of the interface but those of e-mail and access (`inbox-texts.ts`, `access-texts.ts`), in English: the
 * language that others are translated from.
 */
export const en = { language: 'en', common, shell, data };
/** What another language must have. */
export type Texts = typeof en;
