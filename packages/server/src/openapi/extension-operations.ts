import type { ExtensionAction } from '../extensions/extension.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { allowEveryone, hasGrants, type OperationDefinition } from './operation-definition.ts';
import { parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import type { Subject } from './subject.ts';

/** The actions of extensions. */
export function listExtensionOperations({ extensions }: Subject): readonly OperationDefinition[] {
  return extensions.flatMap(({ actions = [] }) => actions.map(toOperationDefinition));
}

/** The operation of an extension's action. The extension defines its reply. */
function toOperationDefinition({ action, summary, reads, permission }: ExtensionAction): OperationDefinition {
  return {
    action,
    summary,
    method: reads ? 'get' : 'post',
    may: permission === 'public' ? allowEveryone : hasGrants([permission.resource, permission.action]),
    ...(!reads && { body: jsonBody({}, false), parameters: [parameterRef('dryRun')] }),
    success: reads
      ? jsonReply('The reply of the extension.', {})
      : jsonReply('The reply of the extension.', {}, schemaRef('WriteMeta')),
    ...(permission === 'public' && { open: true }),
  };
}
