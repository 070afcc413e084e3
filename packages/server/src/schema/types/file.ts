import type { FieldDefinition } from '../../protocol/definition.ts';
import { limits } from '../../protocol/limits.ts';
import { fieldType, operatorSets, optionChecks } from '../field-type.ts';

/** A media type, or all types of a kind, such as `image/*`. */
const mediaType = /^[a-z]+\/(?:\*|[a-z\d][a-z\d!#$&^_.+-]{0,100})$/;
const maxAcceptedTypes = 100;

/**
 * One file, or with `multiple` a list of them. A body gives their ids. What is stored, and shown in replies, describes the files:
 * `{"id", "name", "contentType", "size", "width", "height", "url"}`. A file never changes, so the description needs no join.
 */
export const fileType = fieldType({
  name: 'file',
  storage: 'json',
  sortable: false,
  operators: operatorSets.presence,
  options: {
    multiple: optionChecks.truth,
    accept: findAcceptProblem,
    maxSize: optionChecks.wholeNumber(1, Number.MAX_SAFE_INTEGER),
    maxCount: findMaxCountProblem,
  },
  validationSchema: ({ multiple = false, maxCount = limits.filesOfField }) =>
    multiple ? { fileIds: maxCount } : { fileId: true },
  read: (given) => (Array.isArray(given) ? given.map(toFileId) : toFileId(given)),
});

/** The id of a file that a body gives as its id, or as an object that has it. */
export function toFileId(given: unknown): unknown {
  return given !== null && typeof given === 'object' ? (given as { readonly id?: unknown }).id : given;
}

/** Whether a body may give this value for a file. */
export function isFileId(given: unknown): boolean {
  const id = toFileId(given);
  return Number.isInteger(id) && (id as number) > 0 && (id as number) < 2 ** 31;
}

/** Whether a field takes files of a type. */
export function acceptsType({ accept }: FieldDefinition, type: string): boolean {
  if (!accept) return true;
  return accept.some((each) => (each.endsWith('/*') ? type.startsWith(each.slice(0, -1)) : type === each));
}

function findAcceptProblem(value: unknown): string | null {
  const holds =
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= maxAcceptedTypes &&
    value.every((each) => typeof each === 'string' && mediaType.test(each));
  return holds
    ? null
    : `Give a list of 1 to ${maxAcceptedTypes} media types in lower case, such as image/* or application/pdf.`;
}

function findMaxCountProblem(value: unknown, { multiple }: FieldDefinition): string | null {
  if (!multiple) return 'Only a file field with "multiple" has a maximum number of files.';
  return optionChecks.wholeNumber(1, limits.filesOfField)(value);
}
