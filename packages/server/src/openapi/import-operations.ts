/** Imports: the actions of every collection, and those of the collection `imports`. */
import { importStates } from '../database/import-rows.ts';
import { csvDelimiters } from '../protocol/export-request.ts';
import { importEncodings } from '../protocol/import-encodings.ts';
import { importFormats, importModes } from '../protocol/import-request.ts';
import { limits } from '../protocol/limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonReply, type Operation } from './operation.ts';
import { hasGrants, idParameter, type OperationDefinition } from './operation-definition.ts';
import type { Parameter } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

const fileId: JsonSchema = { type: 'integer', minimum: 1, description: 'The id of a file of files:upload.' };

const fileProperties: Readonly<Record<string, JsonSchema>> = {
  format: { type: 'string', enum: importFormats },
  encoding: {
    type: 'string',
    description: `One of ${importEncodings.join(', ')}, or another usual name of one of them, such as latin1.`,
  },
  delimiter: { type: 'string', enum: Object.keys(csvDelimiters) },
  header: { type: 'boolean', description: 'Whether the first row has the names of the columns.' },
  sheet: { type: ['string', 'integer'], description: 'The name of a sheet, or its index from 0.' },
};

const mapping = schema.array(
  schema.object(
    {
      column: { type: ['integer', 'string'], description: 'The index from 0, or the text of the header.' },
      field: schema.string,
      lookup: { type: 'string', description: 'The unique field of the related collection that the cells contain.' },
    },
    ['column', 'field'],
  ),
);

const maxErrors: JsonSchema = {
  type: 'integer',
  minimum: 0,
  description: 'Refused rows that a dry run lists. Default: all.',
};

const importProperties: Readonly<Record<string, JsonSchema>> = {
  mode: { type: 'string', enum: importModes, default: 'create' },
  matchFields: { type: 'array', items: schema.string, maxItems: limits.importMatchFields },
  mapping,
  ignoreUnknown: schema.boolean,
  addOptions: schema.boolean,
  skipInvalid: schema.boolean,
  dryRun: schema.boolean,
  maxErrors,
  wait: schema.boolean,
  ...fileProperties,
};

const rowProblem: Readonly<Record<string, JsonSchema>> = {
  column: schema.stringOrNull,
  field: schema.stringOrNull,
  value: schema.stringOrNull,
  reason: schema.string,
};

const rowError: Readonly<Record<string, JsonSchema>> = {
  line: schema.integer,
  ...rowProblem,
  others: {
    ...schema.array(schema.object(rowProblem, Object.keys(rowProblem))),
    description: 'Further problems of the row.',
  },
};

const rowCells: JsonSchema = {
  type: ['array', 'null'],
  items: schema.stringOrNull,
  description: 'The texts of the row; null if there are too many errors to show them.',
};

const importColumn = schema.object(
  {
    index: schema.integer,
    name: schema.string,
    type: { type: 'object', required: ['type'] },
    samples: schema.array(schema.string),
    field: schema.stringOrNull,
    lookup: schema.stringOrNull,
  },
  ['index', 'name', 'type', 'samples', 'field', 'lookup'],
);

const previewProperties: Readonly<Record<string, JsonSchema>> = {
  format: { type: 'string', enum: importFormats },
  encoding: schema.stringOrNull,
  delimiter: schema.stringOrNull,
  header: schema.boolean,
  sheets: schema.array(schema.string),
  sheet: schema.stringOrNull,
  columns: schema.array(schemaRef('ImportColumn')),
  rows: schema.array(schema.array(schema.stringOrNull)),
  lines: schema.array(schema.integer),
  truncated: schema.boolean,
};

/** Schemas of every document. */
export const importSchemas: Readonly<Record<string, JsonSchema>> = {
  RowError: schema.object({ path: schema.string, ...rowError }, ['path', ...Object.keys(rowError)]),
  ImportOptions: schema.object(importProperties),
  ImportRequest: {
    anyOf: [
      schema.object({ file: fileId, ...importProperties }, ['file']),
      { type: 'array', items: { type: 'object' }, description: 'The records themselves.' },
    ],
  },
  CollectionPreviewRequest: {
    anyOf: [
      schema.object(
        {
          file: fileId,
          ...fileProperties,
          definition: { type: 'object', description: 'A body for collections:create, for which all rows are checked.' },
          mapping,
          maxErrors,
        },
        ['file'],
      ),
      { type: 'array', items: { type: 'object' }, description: 'The records themselves.' },
    ],
  },
  ImportPreviewRequest: {
    anyOf: [
      schema.object({ file: fileId, ...fileProperties }, ['file']),
      { type: 'array', items: { type: 'object' }, description: 'The records themselves.' },
    ],
  },
  Import: schema.object(
    {
      id: schema.integer,
      collection: schema.string,
      filename: schema.stringOrNull,
      format: { type: 'string', enum: importFormats },
      mode: { type: 'string', enum: importModes },
      status: { type: 'string', enum: importStates },
      rows: { type: ['integer', 'null'], description: 'The number of rows; null until it is known.' },
      processed: schema.integer,
      created: schema.integer,
      updated: schema.integer,
      refused: schema.integer,
      error: schema.stringOrNull,
      startedAt: schema.dateTimeOrNull,
      endedAt: schema.dateTimeOrNull,
      createdAt: schema.dateTime,
      createdById: { type: ['integer', 'null'] },
    },
    ['id', 'status'],
  ),
  ImportDryRun: schema.object(
    {
      rows: schema.integer,
      created: schema.integer,
      updated: schema.integer,
      refused: schema.integer,
      errors: schema.array(schema.object({ ...rowError, cells: rowCells }, [...Object.keys(rowError), 'cells'])),
      truncated: {
        type: 'boolean',
        description: `Whether there are more errors: than maxErrors, or than ${limits.dryRunErrorBytes / 1024 ** 2} MiB of them.`,
      },
    },
    ['rows', 'created', 'updated', 'refused', 'errors', 'truncated'],
  ),
  ImportColumn: importColumn,
  ImportPreview: schema.object(previewProperties, Object.keys(previewProperties)),
};

const importResult = { anyOf: [schemaRef('Import'), schemaRef('ImportDryRun')] };

/** Responses of every document. */
export const importResponses: Readonly<Record<string, JsonSchema>> = {
  Import: jsonReply('The import, which has ended; with dryRun, what it would do.', importResult),
  ImportAccepted: jsonReply('The import, which runs in the background.', schemaRef('Import')),
  ImportPreview: jsonReply('What the file looks like.', schemaRef('ImportPreview')),
};

/** A file as a form, as the body, or as the id of an uploaded file. */
function buildImportBody(request: string): JsonSchema {
  const text = { schema: schema.string };
  const binary = { type: 'string', format: 'binary' };
  const form = {
    type: 'object',
    properties: { file: binary, options: schemaRef('ImportOptions') },
    required: ['file'],
  };
  return {
    required: true,
    content: {
      'application/json': { schema: schemaRef(request) },
      'multipart/form-data': { schema: form },
      'text/csv': text,
      'application/x-ndjson': text,
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': { schema: binary },
    },
  };
}

const importBody = buildImportBody('ImportRequest');
const previewBody = buildImportBody('ImportPreviewRequest');
const collectionPreviewBody = buildImportBody('CollectionPreviewRequest');

/** The options as parameters of the query, which all collections share. */
export const sharedImportParameters: Readonly<Record<string, Parameter>> = Object.fromEntries(
  Object.entries(importProperties).map(([name, each]) => [`import.${name}`, toParameter(name, each)]),
);

/** The names of the shared parameters of the two actions of a collection. */
export const importParameterNames = {
  import: Object.keys(sharedImportParameters),
  importPreview: Object.keys(fileProperties).map((name) => `import.${name}`),
} as const;

function toParameter(name: string, each: JsonSchema): Parameter {
  const isJson = name === 'mapping';
  return {
    name,
    in: 'query',
    ...(isJson ? { content: { 'application/json': { schema: each } } } : { schema: each }),
    ...(name === 'matchFields' && { style: 'form', explode: false }),
  };
}

/** The parts in which the two actions of a collection differ from other record actions. */
export function describeImport(action: 'import' | 'importPreview'): Pick<Operation, 'body' | 'success' | 'also'> {
  return action === 'import'
    ? {
        body: importBody,
        success: { $ref: '#/components/responses/Import' },
        also: { 202: { $ref: '#/components/responses/ImportAccepted' } },
      }
    : { body: previewBody, success: { $ref: '#/components/responses/ImportPreview' } };
}

/** Actions of imports, and the preview of a file for a new collection. */
export const importOperations: readonly OperationDefinition[] = [
  {
    action: 'collections:importPreview',
    summary: 'Propose a collection for the records of a file',
    description:
      'Nothing is changed. Send `data.definition` to collections:create, then import the file into it. With `definition`, all rows are checked for it before.',
    may: hasGrants(['collections', 'create']),
    body: collectionPreviewBody,
    success: jsonReply('What the file looks like, a definition for its records, and with `definition` a report.', {
      type: 'object',
      required: ['format', 'columns', 'definition'],
      properties: { report: schemaRef('ImportDryRun') },
    }),
  },
  {
    action: 'imports:cancel',
    summary: 'Cancel an import',
    description: 'It stops between two transactions. What was written stays.',
    may: hasGrants(['imports', 'get']),
    parameters: [idParameter('import', 1)],
    success: jsonReply('The import.', schemaRef('Import')),
  },
  {
    action: 'imports:refusedRows',
    method: 'get',
    summary: 'The refused rows of an import as a file',
    description: 'Line and reason, then the columns of the source. Correct it, and import it again.',
    may: hasGrants(['imports', 'get']),
    parameters: [
      idParameter('import', 1),
      { name: 'format', in: 'query', schema: { type: 'string', enum: ['csv', 'xlsx'], default: 'csv' } },
    ],
    success: {
      description: 'The file.',
      content: {
        'text/csv': { schema: schema.string },
        'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': {
          schema: { type: 'string', format: 'binary' },
        },
      },
    },
  },
];
