import { applicationNamePattern, setApplicationOwner } from '../../database/application-rows.ts';
import { ApiError, invalidDefinition } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { findDescriptionProblems, findMalformedText, jsonSizeProblem } from '../../schema/definition-details.ts';
import type { Body, PreparedBody, RecordRules } from '../record-rules.ts';

/** Managed by the server. They are ignored in bodies, so that a client can send back a whole record that it has read. */
const serverManaged = ['status', 'errorLog'];

/** Applications: their names, options and owners. Starting and stopping are separate actions. */
export const applicationRules: RecordRules = {
  changesAccess: false,

  /** Destroying an application deletes its store. Only applications:destroy does that, which requires a confirmation. */
  async guard({ action }): Promise<void> {
    if (action === 'destroy')
      throw new ApiError('SYSTEM_PROTECTED', 'Use applications:destroy to destroy an application.');
  },

  async prepare(body, key, context): Promise<PreparedBody> {
    if (!isObject(body)) throw invalidDefinition({ body: 'Give an application: {"name", "displayName", "options"}.' });
    const given = Object.fromEntries(Object.entries(body).filter(([name]) => !serverManaged.includes(name)));
    const details = {
      ...(key === null && nameProblem(given['name'])),
      ...findDescriptionProblems(given, 'displayName'),
      ...optionProblems(given['options']),
    };
    if (Object.keys(details).length > 0) throw invalidDefinition(details);
    if (key !== null) return { body: given };
    const ownerId = (context.caller.user?.['id'] as number | undefined) ?? null;
    return {
      body: { options: {}, ...given } as Body,
      afterWrite: (transaction, name) => setApplicationOwner(context.database, transaction, name as string, ownerId),
    };
  },
};

/** Whether an application may have the name. */
export function isApplicationName(name: unknown): name is string {
  return typeof name === 'string' && applicationNamePattern.test(name);
}

function nameProblem(name: unknown): Record<string, string> {
  if (isApplicationName(name)) return {};
  return {
    name: 'A name starts with a letter and continues with letters, digits, _ and -. It has at most 60 characters.',
  };
}

function optionProblems(options: unknown): Record<string, string> {
  if (options === undefined) return {};
  if (!isObject(options)) return { options: 'Give an object such as {"autoStart": true, "metadata": {}}.' };
  const details: Record<string, string> = {};
  for (const [name, value] of Object.entries(options)) {
    if (name === 'autoStart') {
      if (typeof value !== 'boolean') details['options.autoStart'] = 'Give true or false.';
    } else if (name === 'metadata') {
      const problem = isObject(value) ? (findMalformedText(value) ?? jsonSizeProblem(value)) : 'Give an object.';
      if (problem !== null) details['options.metadata'] = problem;
    } else
      details[`options.${name.slice(0, 60)}`] =
        'Applications have no such option. The options are autoStart and metadata.';
  }
  return details;
}
