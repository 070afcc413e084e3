const grammar = /^[A-Za-z][A-Za-z0-9_]{0,59}$/;

/** System resource names, which no collection may take. */
export const systemResources: ReadonlySet<string> = new Set(
  `accounts apiKeys applications attachments audit auth backups batch changes collections contactGroups contacts conversationNotes conversations docs
   emails fields files health imports mailCampaignMessages mailCampaigns mailNotifications mailPushSubscriptions mailRules mailSavedSearches mailSuppressions
   mailTemplates mailboxes permissions realtime roles serverActivity
   systemSettings users webhooks`.split(/\s+/),
);

/** SQL:2016 reserved words, compared without case. */
const reservedWords: ReadonlySet<string> = new Set(
  `abs acos all allocate alter and any are array array_agg array_max_cardinality as asensitive asin asymmetric at atan
   atomic authorization avg begin begin_frame begin_partition between bigint binary blob boolean both by call called
   cardinality cascaded case cast ceil ceiling char char_length character character_length check classifier clob close
   coalesce collate collect column commit condition connect constraint contains convert copy corr corresponding cos cosh
   count covar_pop covar_samp create cross cube cume_dist current current_catalog current_date
   current_default_transform_group current_path current_role current_row current_schema current_time current_timestamp
   current_transform_group_for_type current_user cursor cycle date day deallocate dec decfloat decimal declare default
   define delete dense_rank deref describe deterministic disconnect distinct double drop dynamic each element else empty
   end end_frame end_partition equals escape every except exec execute exists exp external extract false fetch filter
   first_value float floor for foreign frame_row free from full function fusion get global grant group grouping groups
   having hold hour identity in indicator initial inner inout insensitive insert int integer intersect intersection
   interval into is join json_array json_arrayagg json_exists json_object json_objectagg json_query json_table
   json_table_primitive json_value lag language large last_value lateral lead leading left like like_regex listagg ln
   local localtime localtimestamp log log10 lower match match_number match_recognize matches max member merge method min
   minute mod modifies module month multiset national natural nchar nclob new no none normalize not nth_value ntile null
   nullif numeric occurrences_regex octet_length of offset old omit on one only open or order out outer over overlaps
   overlay parameter partition pattern per percent percent_rank percentile_cont percentile_disc period permute portion
   position position_regex power precedes precision prepare primary procedure ptf range rank reads real recursive ref
   references referencing regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
   release result return returns revoke right rollback rollup row row_number rows running savepoint scope scroll search
   second seek select sensitive session_user set show similar sin sinh skip smallint some specific specifictype sql
   sqlexception sqlstate sqlwarning sqrt start static stddev_pop stddev_samp submultiset subset substring
   substring_regex succeeds sum symmetric system system_time system_user table tablesample tan tanh then time timestamp
   timezone_hour timezone_minute to trailing translate translate_regex translation treat trigger trim trim_array true
   truncate uescape union unique unknown unnest update upper user using value value_of values var_pop var_samp varbinary
   varchar varying versioning when whenever where width_bucket window with within without year`.split(/\s+/),
);

/** The problem of a collection's name, or null. */
export function collectionNameProblem(name: unknown): string | null {
  const problem = grammarProblem(name);
  if (problem) return problem;
  if (systemResources.has(name as string)) return `"${name}" is the name of a system resource. Choose another name.`;
  return reservedWords.has((name as string).toLowerCase())
    ? `"${name}" is a reserved word of SQL. Choose another name.`
    : null;
}

/** The problem of a field's name, or null. */
export function fieldNameProblem(name: unknown): string | null {
  const problem = grammarProblem(name);
  if (problem) return problem;
  return name === 'constructor' || name === 'prototype'
    ? `"${name}" is not allowed as the name of a field. Choose another name.`
    : null;
}

function grammarProblem(name: unknown): string | null {
  if (name === undefined || name === null || name === '') return 'Give a name.';
  if (typeof name === 'string' && grammar.test(name)) return null;
  return 'A name must start with a letter and consist of at most 60 letters, digits and underscores.';
}

/** The name of a column. It is derived, so that `Note` and `note` differ also in engines that ignore case. */
export function physicalName(name: string, id: number): string {
  return `${name.slice(0, 45).toLowerCase()}_${id}`;
}

/** The name of a collection's table. SQLite reserves table names that begin with `sqlite_`, so those get a prefix. */
export function tableName(name: string, id: number): string {
  const derived = physicalName(name, id);
  return derived.startsWith('sqlite_') ? `c_${derived}` : derived;
}
