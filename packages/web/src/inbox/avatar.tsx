import type { ReactNode } from 'react';
import classes from './avatar.module.css';

/** The first letter of a name on one of eight background colours, which depends on the name. */
export function Avatar({ name }: { name: string }): ReactNode {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 4093;
  const first = [...name.replace(/[^\p{L}\p{N}]/gu, '')][0] ?? '?';
  return (
    <span className={classes.avatar} data-ground={sum % 8} aria-hidden="true">
      {first.toUpperCase()}
    </span>
  );
}
