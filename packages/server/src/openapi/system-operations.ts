import { applicationOperations } from './application-operations.ts';
import { auditOperations } from './audit-operations.ts';
import { authOperations } from './auth-operations.ts';
import { batch } from './batch-operation.ts';
import { changeOperations } from './change-operations.ts';
import { definitionOperations } from './definition-operations.ts';
import { extensionOperations } from './extension-operations.ts';
import { keyOperations } from './key-operations.ts';
import { mailOperations } from './mail-operations.ts';
import { type Operation, reply } from './operation.ts';
import { permissionOperations } from './permission-operations.ts';
import { schemaRef } from './record-schemas.ts';
import type { Subject } from './subject.ts';
import { webhookOperations } from './webhook-operations.ts';
import { everybody, operationOf, signedIn, tag, type WrittenOperation } from './written-operation.ts';

const documentOperations: readonly WrittenOperation[] = [
  {
    action: 'docs:openapi',
    method: 'get',
    summary: 'This document, for the role of the credential',
    may: everybody,
    success: {
      description: 'OpenAPI 3.1.',
      headers: tag,
      content: { 'application/json': { schema: { type: 'object', required: ['openapi'] } } },
    },
    notModified: true,
    open: true,
  },
];

/** What is no resource: it has no action in its path. */
const health: Operation = {
  method: 'get',
  path: '/api/health',
  id: 'health',
  tag: 'health',
  summary: 'Whether the server lives',
  parameters: [],
  success: reply('It does.', schemaRef('Health')),
  errors: 'read',
  open: true,
};

const all: readonly WrittenOperation[] = [
  ...authOperations,
  ...keyOperations,
  ...permissionOperations,
  ...definitionOperations,
  ...applicationOperations,
  ...auditOperations,
  ...changeOperations,
  ...documentOperations,
  ...webhookOperations,
  ...mailOperations,
];

/** The operations that no collection's definition makes, as far as the role may do them. */
export function systemOperations(subject: Subject): readonly Operation[] {
  return [
    health,
    ...(signedIn(subject) ? [batch] : []),
    ...[...all, ...extensionOperations(subject)]
      .filter((each) => each.may(subject))
      .map((each) => operationOf(each, subject)),
  ];
}
