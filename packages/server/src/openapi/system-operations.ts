import { activityOperations } from './activity-operations.ts';
import { applicationOperations } from './application-operations.ts';
import { auditOperations } from './audit-operations.ts';
import { authOperations } from './auth-operations.ts';
import { backupOperations } from './backup-operations.ts';
import { batchOperation } from './batch-operation.ts';
import { eventOperations } from './change-operations.ts';
import { definitionOperations } from './definition-operations.ts';
import { listExtensionOperations } from './extension-operations.ts';
import { fileOperations } from './file-operations.ts';
import { importOperations } from './import-operations.ts';
import { indexOperations } from './index-operations.ts';
import { keyOperations } from './key-operations.ts';
import { documentedMailActions } from './mail-operations.ts';
import { jsonReply, type Operation } from './operation.ts';
import {
  allowEveryone,
  etagHeader,
  isSignedIn,
  type OperationDefinition,
  toOperation,
} from './operation-definition.ts';
import { permissionOperations } from './permission-operations.ts';
import { schemaRef } from './record-schemas.ts';
import { schemaOperations } from './schema-operations.ts';
import { settingsOperations } from './settings-operations.ts';
import type { Subject } from './subject.ts';
import { webhookOperations } from './webhook-operations.ts';

const documentOperations: readonly OperationDefinition[] = [
  {
    action: 'docs:openapi',
    method: 'get',
    summary: 'Get this document, for the role of the credential',
    may: allowEveryone,
    success: {
      description: 'OpenAPI 3.1.',
      headers: etagHeader,
      content: { 'application/json': { schema: { type: 'object', required: ['openapi'] } } },
    },
    notModified: true,
    open: true,
  },
];

/** The health check, whose path has no action. */
const healthOperation: Operation = {
  method: 'get',
  path: '/api/health',
  id: 'health',
  tag: 'health',
  summary: 'Check whether the server is running',
  parameters: [],
  success: jsonReply('The server is running.', schemaRef('Health')),
  errors: 'read',
  open: true,
};

const operationDefinitions: readonly OperationDefinition[] = [
  ...authOperations,
  ...keyOperations,
  ...permissionOperations,
  ...definitionOperations,
  ...indexOperations,
  ...schemaOperations,
  ...applicationOperations,
  ...activityOperations,
  ...backupOperations,
  ...auditOperations,
  ...eventOperations,
  ...documentOperations,
  ...webhookOperations,
  ...documentedMailActions,
  ...fileOperations,
  ...importOperations,
  ...settingsOperations,
];

/** The operations of system actions that the role may use. */
export function systemOperations(subject: Subject): readonly Operation[] {
  return [
    healthOperation,
    ...(isSignedIn(subject) ? [batchOperation] : []),
    ...[...operationDefinitions, ...listExtensionOperations(subject)]
      .filter((each) => each.may(subject))
      .map((each) => toOperation(each, subject)),
  ];
}
