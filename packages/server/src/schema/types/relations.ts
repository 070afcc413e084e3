import { type FieldType, fieldType, operatorSets } from '../field-type.ts';

/** What relation types share: no column, no value of their own, filters by presence and path. */
function relationType(name: string): FieldType {
  return fieldType({
    name,
    storage: null,
    relation: true,
    sortable: false,
    operators: operatorSets.relation,
    jsonSchema: () => ({}),
  });
}

/** Many to one: the foreign key lies here. */
export const belongsToType = relationType('belongsTo');
/** One to many: the foreign key lies in the target. */
export const hasManyType = relationType('hasMany');
/** Many to many through a join. So far only between system collections. */
export const belongsToManyType = relationType('belongsToMany');
