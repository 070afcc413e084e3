import { type FieldType, fieldType, operatorSets } from '../field-type.ts';

/** What relation types share: no column, no value of their own, filters by presence and path. */
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

/** Many to one: the foreign key lies here. */
export const belongsToType = relationType('belongsTo');
/** One to many: the foreign key lies in the target. */
export const hasManyType = relationType('hasMany');
/** One to one: the foreign key lies in the target, and no two records there hold the same. */
export const hasOneType = relationType('hasOne');
/** Many to many through a join collection. */
export const belongsToManyType = relationType('belongsToMany');
