import { Box } from '@mantine/core';
import type { ReactNode } from 'react';

interface LongTextProps {
  readonly children: ReactNode;
  /** The width in pixels below which the text is not broken further. */
  readonly width?: number;
  /** An address of e-mail: it is always written from left to right. */
  readonly isAddress?: boolean;
}

/**
 * A name or a sentence of a user or another server in the cell of a table: it is broken anywhere rather than making the table
 * wider, and its direction does not affect the text around it.
 */
export function LongText({ children, width = 140, isAddress = false }: LongTextProps): ReactNode {
  return (
    <Box
      component="bdi"
      display="block"
      miw={width}
      style={{ overflowWrap: 'anywhere' }}
      {...(isAddress && { dir: 'ltr' })}
    >
      {children}
    </Box>
  );
}
