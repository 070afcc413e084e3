import { ApiError } from '../../protocol/api-error.ts';
import { sourceLimits } from './table-source.ts';

/** 400 for a file that cannot be read. @param message what is wrong, on which line, and the cure. */
export function invalidFile(message: string): ApiError {
  return new ApiError('FILE_INVALID', message);
}

/** 400 for a file that exceeds one of {@link sourceLimits}. */
export function tooLarge(message: string): ApiError {
  return new ApiError('LIMIT_EXCEEDED', message);
}

/** @throws ApiError if a row has too many cells. */
export function checkColumnCount(count: number, line: number): void {
  if (count > sourceLimits.columns)
    throw tooLarge(
      `Line ${line} has more than ${sourceLimits.columns} columns. Is the delimiter wrong, or a line break missing?`,
    );
}
