/** Refused rows of an import as a table for a terminal. */

import type { RowError, RowProblem } from './protocol/api-error.ts';

/** Why a row is refused, as the server reports it. */
export type RefusedLine = Pick<RowError, 'line' | 'column' | 'value' | 'reason'> & {
  readonly others?: readonly RowProblem[];
};

const maxShownRows = 20;
const maxWidths = [9, 24, 30] as const;

/**
 * The first rows as a table. Cells come from the file: control characters, which a terminal could take for commands, are replaced.
 *
 * @param count of all refused rows.
 */
export function formatRowErrors(errors: readonly RefusedLine[], count: number): string {
  const rows = [
    ['Line', 'Column', 'Value', 'Reason'],
    ...errors
      .slice(0, maxShownRows)
      .flatMap(({ line, others = [], ...first }) =>
        [first, ...others].map(({ column, value, reason }, index) =>
          [index === 0 ? String(line) : '', column ?? '', value ?? '', reason].map(cleanCell),
        ),
      ),
  ];
  const widths = maxWidths.map((max, index) =>
    Math.min(max, Math.max(...rows.map((cells) => [...(cells[index] ?? '')].length))),
  );
  const lines = rows.map((cells) =>
    cells.map((cell, index) => (index < widths.length ? fit(cell, widths[index] ?? 0) : cell)).join('  '),
  );
  const more = count - Math.min(errors.length, maxShownRows);
  return [...lines, ...(more > 0 ? [`… and ${more} more.`] : [])].join('\n');
}

function cleanCell(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}

function fit(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width
    ? text + ' '.repeat(width - characters.length)
    : `${characters.slice(0, width - 1).join('')}…`;
}
