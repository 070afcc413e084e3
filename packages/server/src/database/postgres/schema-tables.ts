/**
 * A condition: `t`, a row of pg_class, is a table of a schema. Pg_class has no index that begins with the schema, and a node with 1,000
 * applications has 500,000 relations. Their dependencies on the schema have an index.
 *
 *     isTableIn('$1') // t.oid=ANY(ARRAY(SELECT objid FROM pg_depend WHERE … AND refobjid=$1::regnamespace)) AND t.relkind='r'
 *
 * @param schema an expression: its name, quoted if necessary.
 */
export const isTableIn = (
  schema: string,
): string => `t.oid=ANY(ARRAY(SELECT objid FROM pg_depend WHERE classid='pg_class'::regclass
AND refclassid='pg_namespace'::regclass AND refobjid=${schema}::regnamespace)) AND t.relkind='r'`;
