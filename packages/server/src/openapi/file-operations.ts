import { addressSeconds } from '../files/signed-address.ts';
import { maxThumbnailSide, thumbnailFits, thumbnailSides } from '../files/thumbnail-size.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import type { Collection } from '../schema/registry.ts';
import { shownFileSchema } from './field-schema.ts';
import { jsonReply, makePathItem, type Operation } from './operation.ts';
import { etagHeader, hasGrants, idParameter, isSignedIn, type OperationDefinition } from './operation-definition.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import * as schema from './schema-parts.ts';
import type { Subject } from './subject.ts';

const binary: JsonSchema = { type: 'string', format: 'binary' };
/** The bytes of any file: shown by browsers under their detected type, else a download. */
const bytesContent: JsonSchema = { '*/*': { schema: binary } };
const rangeReplies: Readonly<Record<number, JsonSchema>> = {
  206: { description: 'The bytes of a range.', content: bytesContent },
  416: { description: 'The range is beyond the bytes.', content: bytesContent },
};

const describeSide = (name: string): string =>
  `The ${name} of a thumbnail in pixels, rounded up to one of ${thumbnailSides.join(', ')}. The reply is a WebP picture, which is not larger than the file.`;
const sideSchema: JsonSchema = { type: 'integer', minimum: 1, maximum: maxThumbnailSide };
/** Parameters that request a thumbnail. */
const thumbnailParameters: readonly Parameter[] = [
  { name: 'width', in: 'query', description: describeSide('width'), schema: sideSchema },
  { name: 'height', in: 'query', description: describeSide('height'), schema: sideSchema },
  {
    name: 'fit',
    in: 'query',
    description:
      '`contain` shows the whole picture within the box. `cover` fills the box and cuts off the rest; it needs both sides.',
    schema: { type: 'string', enum: thumbnailFits, default: 'contain' },
  },
];

const bytesReply: JsonSchema = { description: 'The bytes.', headers: etagHeader, content: bytesContent };

/** Uploads of files. */
export const fileOperations: readonly OperationDefinition[] = [
  {
    action: 'files:upload',
    summary: 'Upload files',
    description:
      'All files of the request are stored, or none. Only you can read them until a record refers to them; a file to which no record refers is deleted after a day.',
    may: hasGrants(['files', 'create']),
    body: {
      required: true,
      content: {
        'multipart/form-data': {
          schema: { type: 'object', additionalProperties: { anyOf: [binary, schema.array(binary)] } },
        },
      },
    },
    success: jsonReply('The files, in the order of the request.', schema.array(shownFileSchema)),
  },
  {
    action: 'files:sign',
    summary: 'Create a signed URL of a file that works without an Authorization header',
    description:
      'The URL has the permissions that your credential has when the URL is used. It expires with the credential.',
    may: isSignedIn,
    parameters: [
      idParameter('file', 1),
      {
        name: 'expiresIn',
        in: 'query',
        description: 'Seconds.',
        schema: { type: 'integer', minimum: 1, maximum: addressSeconds.max, default: addressSeconds.default },
      },
    ],
    success: jsonReply(
      'The address.',
      schema.complete({ url: schema.string, expiresAt: { type: 'string', format: 'date-time' } }),
    ),
  },
];

const idPathParameter: Parameter = {
  name: 'key',
  in: 'path',
  required: true,
  description: 'The id of the file.',
  schema: { type: 'integer', minimum: 1 },
};

/** The path of bytes that files in records show as their `url`. */
export function buildFilePath(subject: Subject): Record<string, JsonSchema> {
  const { caller, registry, findGrant } = subject;
  const maySee = (collection: Collection): boolean => {
    const grant = findGrant(collection.name, 'get');
    return grant !== null && collection.fields.some((field) => field.type.name === 'file' && grant.may(field));
  };
  if (caller.type === 'anonymous' && !registry.all().some(maySee)) return {};
  const operation: Operation = {
    method: 'get',
    path: '/api/files/{key}',
    id: 'files.bytes',
    tag: 'files',
    summary: 'The bytes of a file',
    description:
      'For its uploader, as long as no record has referred to it; then for callers who may get such a record with the field.',
    parameters: [
      parameterRef('If-None-Match'),
      ...thumbnailParameters,
      {
        name: 'signature',
        in: 'query',
        description: 'The signature from files:sign. It replaces the credential.',
        schema: schema.string,
      },
    ],
    success: bytesReply,
    notModified: true,
    also: rangeReplies,
    errors: 'read',
  };
  const [path, item] = makePathItem(operation, [idPathParameter], subject);
  return { [path]: item };
}

const indexParameter: Parameter = {
  name: 'index',
  in: 'path',
  required: true,
  description: 'The position in the list. The first file has the index 0.',
  schema: { type: 'integer', minimum: 0 },
};

/** The bytes of the files in the fields of a collection. */
export function recordFileOperations({ findGrant }: Subject, collection: Collection): readonly Operation[] {
  const { name } = collection;
  const grant = findGrant(name, 'get');
  if (!grant) return [];
  return collection.fields
    .filter((field) => field.type.name === 'file' && grant.may(field))
    .map((field) => ({
      method: 'get',
      path: `/api/${name}/{key}/${field.name}${field.definition.multiple ? '/{index}' : ''}`,
      id: `${name}.${field.name}.file`,
      tag: name,
      summary: 'The bytes of a file of a record',
      parameters: [
        ...(field.definition.multiple ? [indexParameter] : []),
        parameterRef('If-None-Match'),
        ...thumbnailParameters,
      ],
      success: bytesReply,
      notModified: true,
      also: rangeReplies,
      errors: 'read',
    }));
}
