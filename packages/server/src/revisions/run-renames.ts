/** The renames of a plan. They run first, so that all other steps use the new names. */
import { changeField } from '../collections/change-field.ts';
import { renameCollection } from '../collections/rename-collection.ts';
import type { SchemaStep } from './plan-schema.ts';
import { type RecordSteps, runRecordStep, type StepContext } from './record-steps.ts';

/** Runs work in the transaction of a plan, with the definitions as the previous work has left them. */
export type RunStep = (work: (context: StepContext) => Promise<unknown>) => Promise<void>;

type RunRename = (step: SchemaStep) => Promise<void>;

/** The prefix of the temporary name of a definition that is destroyed later, if another definition takes its name. */
const doomedPrefix = 'destroyed_';

/** The name of a definition as people know it, whether or not it was renamed before it is destroyed. */
export function toKnownName(name: string): string {
  return name.startsWith(doomedPrefix) ? name.slice(doomedPrefix.length) : name;
}

/** @returns the steps with the names that definitions have now. */
export async function runRenames(
  run: RunStep,
  steps: readonly SchemaStep[],
  records: RecordSteps,
): Promise<readonly SchemaStep[]> {
  const rename: RunRename = (step) => run((context) => runRename(context, step, records));
  let current = [...steps];
  for (const kind of ['collection', 'field', 'role'] as const) {
    const renames = steps.filter((each) => each.kind === kind && each.action === 'rename');
    const isCreated = (step: SchemaStep): boolean =>
      steps.some((each) => each.kind === kind && each.action === 'create' && describe(each) === describe(step));
    const isDoomed = (step: SchemaStep): boolean =>
      step.kind === kind &&
      step.action === 'destroy' &&
      !isCreated(step) &&
      renames.some((each) => describe(each) === describe(step));
    const doomed = new Map(
      current.filter(isDoomed).map((step) => [step, withName(step, `${doomedPrefix}${getName(step)}`.slice(0, 60))]),
    );
    for (const [step, renamed] of doomed) await rename({ ...renamed, from: getName(step) });
    current = current.map((step) => doomed.get(step) ?? step);
    await renameAll(rename, renames);
  }
  return current;
}

const describe = ({ kind, of, name }: SchemaStep): string => (kind === 'field' ? `${of}.${name}` : of);
const describeFormer = ({ kind, of, from = '' }: SchemaStep): string => (kind === 'field' ? `${of}.${from}` : from);
const getName = ({ kind, of, name = '' }: SchemaStep): string => (kind === 'field' ? name : of);

function withName(step: SchemaStep, name: string): SchemaStep {
  return step.kind === 'field' ? { ...step, name } : { ...step, of: name };
}

/** Orders renames: first those whose new name is free. A cycle of names is broken with a temporary name. */
async function renameAll(rename: RunRename, renames: readonly SchemaStep[]): Promise<void> {
  const waiting = [...renames];
  while (waiting.length > 0) {
    const index = waiting.findIndex((each) => !waiting.some((other) => describeFormer(other) === describe(each)));
    const [next] = waiting.splice(Math.max(0, index), 1) as [SchemaStep];
    if (index >= 0) await rename(next);
    else {
      const temporary = `renamed${waiting.length}_${getName(next)}`.slice(0, 60);
      await rename(withName(next, temporary));
      waiting.push({ ...next, from: temporary });
    }
  }
}

async function runRename(context: StepContext, step: SchemaStep, records: RecordSteps): Promise<void> {
  const { kind, of, name, from = '' } = step;
  if (kind === 'collection') await renameCollection(context, from, of);
  else if (kind === 'field') await changeField(context, of, from, { newName: name });
  else await runRecordStep(context, { ...step, action: 'rename' }, records);
}
