import { access } from './en/access.ts';
import { common } from './en/common.ts';
import { data } from './en/data.ts';
import { inbox } from './en/inbox.ts';
import { shell } from './en/shell.ts';

/** Every text of the interface, in English: the language that others are translated from. */
export const en = { common, shell, data, access, inbox };
/** What another language must have. */
export type Texts = typeof en;
