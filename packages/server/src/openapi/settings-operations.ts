/** The `systemSettings` actions, which only administrators of `main` may use. */
import { adminRole } from '../access/access-table.ts';
import { mainApplicationName } from '../applications/application.ts';
import { settings } from '../base/settings.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply } from './operation.ts';
import type { OperationDefinition } from './operation-definition.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';
import type { Subject } from './subject.ts';

/** Whether the role may read and change settings. */
export function mayChangeSettings({ application, caller }: Subject): boolean {
  return application === mainApplicationName && caller.role === adminRole;
}

const reply = jsonReply('All settings, with value and source.', schema.array(schemaRef('Setting')));

export const settingsOperations: readonly OperationDefinition[] = [
  {
    action: 'systemSettings:get',
    method: 'get',
    summary: 'List all settings of the server',
    may: mayChangeSettings,
    success: reply,
  },
  {
    action: 'systemSettings:update',
    summary: 'Change settings while the server runs',
    description:
      'All settings of the request are stored, or none. They take effect at once, and within a second on other servers. Null removes a stored value.',
    may: mayChangeSettings,
    body: jsonBody(schemaRef('SettingChanges')),
    success: reply,
  },
];

const numberOrNull: JsonSchema = { type: ['integer', 'null'] };
const settingProperties = {
  name: schema.string,
  value: { ...schema.stringOrNull, description: 'Null for a secret, and if nothing is set.' },
  source: { type: 'string', enum: ['default', 'environment', '.env', 'file', 'stored'] },
  secret: schema.boolean,
  isSet: schema.boolean,
  group: { ...schema.stringOrNull, description: 'Null: a change needs a restart.' },
  changeable: { ...schema.boolean, description: 'Whether systemSettings:update can change it.' },
  default: schema.stringOrNull,
  description: schema.string,
  unit: schema.stringOrNull,
  minimum: numberOrNull,
  maximum: numberOrNull,
  choices: { type: ['array', 'null'], items: schema.string },
};
const names = settings.filter(({ runtime }) => runtime).map(({ name }) => name);

/** Schemas for administrators of `main`. */
export const settingsSchemas: Readonly<Record<string, JsonSchema>> = {
  Setting: schema.complete(settingProperties),
  SettingChanges: {
    ...schema.object(Object.fromEntries(names.map((name) => [name, { type: ['string', 'number', 'null'] }]))),
    examples: [{ EVENTS_DAYS: 60, ALLOW_SIGN_UP: 'main' }],
  },
};
