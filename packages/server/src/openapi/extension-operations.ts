import type { ExtensionAction } from '../extensions/extension.ts';
import { body, reply } from './operation.ts';
import { parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import type { Subject } from './subject.ts';
import { everybody, granted, type WrittenOperation } from './written-operation.ts';

/** The actions that extensions add. */
export function extensionOperations({ extensions }: Subject): readonly WrittenOperation[] {
  return extensions.flatMap(({ actions = [] }) => actions.map(addedOperation));
}

/** What an extension says of an action: who may do it, and for what. Its replies are its own. */
function addedOperation({ action, summary, reads, permission }: ExtensionAction): WrittenOperation {
  return {
    action,
    summary,
    method: reads ? 'get' : 'post',
    may: permission === 'public' ? everybody : granted([permission.resource, permission.action]),
    ...(!reads && { body: body({}, false), parameters: [parameterRef('dryRun')] }),
    success: reads
      ? reply('What the extension answers.', {})
      : reply('What the extension answers.', {}, schemaRef('WriteMeta')),
    ...(permission === 'public' && { open: true }),
  };
}
