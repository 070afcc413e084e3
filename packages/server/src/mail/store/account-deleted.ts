import { ApiError } from '../../protocol/api-error.ts';

const message = 'The account was deleted meanwhile.';

/** The account of an import was deleted while messages were stored: nothing of it is stored any more. */
export class AccountDeleted extends Error {
  constructor() {
    super(message);
  }
}

/** The same as an answer to the caller. */
export function accountDeletedError(): ApiError {
  return new ApiError('RECORD_UNKNOWN', message);
}
