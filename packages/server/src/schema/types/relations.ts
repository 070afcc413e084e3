import { type FieldType, fieldType, operatorSets } from '../field-type.ts';

/** The common properties of relation types: no column and no value, filters by presence and path. */
function relationType(name: string): FieldType {
  return fieldType({
    name,
    storage: null,
    relation: true,
    sortable: false,
    operators: operatorSets.relation,
    validationSchema: () => ({}),
  });
}

/** Many to one: the foreign key is in this collection. */
export const belongsToType = relationType('belongsTo');
/** One to many: the foreign key is in the target. */
export const hasManyType = relationType('hasMany');
/** One to one: the foreign key is in the target and unique. */
export const hasOneType = relationType('hasOne');
/** Many to many through a join collection. */
export const belongsToManyType = relationType('belongsToMany');
