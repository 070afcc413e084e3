/** The public face of the wire contract: what a client may import. */
export { grantableActions, isRecordAction, type RecordAction, readActions, writeActions } from './actions.ts';
export { ApiError, type ErrorDetails } from './api-error.ts';
export { type ErrorCode, type ErrorLabel, errorCatalogue } from './error-catalogue.ts';
export { limits } from './limits.ts';
export { operators } from './operators.ts';
