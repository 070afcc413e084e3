/** The types of the HTTP API that clients may import. */
export { grantableActions, isRecordAction, type RecordAction, readActions, writeActions } from './actions.ts';
export { ApiError, type ErrorDetails } from './api-error.ts';
export type { CollectionDefinition, CollectionOptions, FieldDefinition, IndexDefinition } from './definition.ts';
export { type ErrorCode, type ErrorLabel, errorCatalogue } from './error-catalogue.ts';
export type { EventHead } from './event.ts';
export { limits } from './limits.ts';
export { operators } from './operators.ts';
export type { TemplateVariable } from './template-variables.ts';
