import type { ExtensionAction } from '../extensions/extension.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { allowEveryone, hasGrants, type OperationDefinition } from './operation-definition.ts';
import { parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import type { Subject } from './subject.ts';

/** The actions that extensions add. */
export function listExtensionOperations({ extensions }: Subject): readonly OperationDefinition[] {
  return extensions.flatMap(({ actions = [] }) => actions.map(toOperationDefinition));
}

/** What an extension says of an action: who may do it, and for what. Its replies are its own. */
function toOperationDefinition({ action, summary, reads, permission }: ExtensionAction): OperationDefinition {
  return {
    action,
    summary,
    method: reads ? 'get' : 'post',
    may: permission === 'public' ? allowEveryone : hasGrants([permission.resource, permission.action]),
    ...(!reads && { body: jsonBody({}, false), parameters: [parameterRef('dryRun')] }),
    success: reads
      ? jsonReply('What the extension answers.', {})
      : jsonReply('What the extension answers.', {}, schemaRef('WriteMeta')),
    ...(permission === 'public' && { open: true }),
  };
}
