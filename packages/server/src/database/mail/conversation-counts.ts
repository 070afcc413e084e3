/** Counts of conversations. They are always computed from the e-mails, never incremented. */
import { splitIntoChunks } from '../../base/split-into-chunks.ts';
import { mailLimits } from '../../protocol/mail-limits.ts';
import type { Database } from '../database.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { keysPerSecond } from './email-keys.ts';

const countColumns = sql`messages,unread,starred,attachments,"lastEmailId"`;
const selectLatest = sql`SELECT e."receivedAt",e.snippet FROM emails e WHERE e.id="lastEmailId"`;
const responseColumns = sql`"firstReceivedAt","respondedAt","responseSeconds"`;
/** Messages of these mailboxes were not written to be answered. */
const notAnswered = sql`e.folder NOT IN ('trash','junk')`;

/** The key of the first message that a conversation has received; keys begin with the second of receipt. */
export function selectFirstReceived({ dialect }: Database): Sql {
  return sql`SELECT min(e.id) FROM emails e WHERE e."conversationId"=conversations.id AND NOT (${dialect.isTrue(sql`e.outgoing`)}) AND NOT (${dialect.isTrue(sql`e.draft`)}) AND ${notAnswered}`;
}

/** When the first message arrived, when the first one was sent after it, and the seconds between them. */
function selectResponse(database: Database): Sql {
  const { dialect } = database;
  const isSent = sql`${dialect.isTrue(sql`s.outgoing`)} AND NOT (${dialect.isTrue(sql`s.draft`)}) AND s.folder NOT IN ('trash','outbox')`;
  const response = sql`SELECT min(s.id) FROM emails s WHERE s."conversationId"=conversations.id AND ${isSent} AND s.id>f.id`;
  const perSecond = value('bigint', keysPerSecond);
  return sql`SELECT f."receivedAt" AS received,r."receivedAt" AS responded,r.id/${perSecond}-f.id/${perSecond} AS seconds FROM emails f LEFT JOIN emails r ON r.id=(${response}) WHERE f.id=(${selectFirstReceived(database)})`;
}

/** The e-mails that count in a conversation: all except those in the trash. */
function selectCounts({ dialect }: Database): Sql {
  const number = (condition: Sql): Sql => sql`count(CASE WHEN ${condition} THEN 1 END)`;
  const unread = number(sql`NOT (${dialect.isTrue(sql`e.read`)})`);
  const starred = number(dialect.isTrue(sql`e.starred`));
  const attached = number(dialect.isTrue(sql`e."hasAttachments"`));
  return sql`SELECT count(*),${unread},${starred},${attached},coalesce(max(e.id),0) FROM emails e WHERE e."conversationId"=conversations.id AND e.folder<>'trash'`;
}

/** The labels of the e-mails that count in a conversation, each once and at most as many as one e-mail may have; null without any. */
function selectLabels({ dialect }: Database): Sql {
  const { rows, text, isText } = dialect.jsonElements(sql`e.labels`, 'l');
  const labels = sql`SELECT DISTINCT ${text} AS v FROM emails e,${rows} WHERE e."conversationId"=conversations.id AND e.folder<>'trash' AND ${isText}`;
  return dialect.textList(sql`${labels} ORDER BY 1 LIMIT ${mailLimits.labels}`);
}

/** Conversations of one statement, so that it is short even on the event loop. */
const conversationsPerStatement = 8;

/** Statements that recount conversations. */
export function buildRecount(database: Database, conversations: readonly number[]): readonly Sql[] {
  return splitIntoChunks(conversations, conversationsPerStatement).flatMap((some) => {
    const which = database.dialect.isIn(sql`id`, listValue('integer', some));
    return [
      sql`UPDATE conversations SET (${countColumns})=(${selectCounts(database)}),_v=_v+1 WHERE ${which}`,
      sql`UPDATE conversations SET ("lastAt",snippet)=(${selectLatest}),(${responseColumns})=(${selectResponse(database)}),labels=${selectLabels(database)} WHERE ${which}`,
    ];
  });
}

/**
 * A query for those of the conversations whose counts are wrong, or that are marked as merged although they have
 * e-mails.
 */
export function selectMiscounted(database: Database, conversations: readonly number[]): Sql {
  const which = database.dialect.isIn(sql`id`, listValue('integer', conversations));
  const wrong = sql`(${countColumns})<>(${selectCounts(database)})`;
  const last = (name: string): Sql => sql`(SELECT e.${name} FROM emails e WHERE e.id="lastEmailId")`;
  const late = sql`"lastAt" IS DISTINCT FROM ${last('"receivedAt"')} OR snippet IS DISTINCT FROM ${last('snippet')}`;
  const isWronglyMerged = sql`("mergedInto" IS NOT NULL AND EXISTS (SELECT 1 FROM emails e WHERE e."conversationId"=conversations.id))`;
  const response = (name: string): Sql => sql`(SELECT x.${name} FROM (${selectResponse(database)}) x)`;
  const isWrongResponse = sql`"firstReceivedAt" IS DISTINCT FROM ${response('received')} OR "responseSeconds" IS DISTINCT FROM ${response('seconds')}`;
  const asText = (labels: Sql): Sql => sql`CAST(${labels} AS text)`;
  const areWrongLabels = sql`${asText(sql`labels`)} IS DISTINCT FROM ${asText(selectLabels(database))}`;
  return sql`SELECT id FROM conversations WHERE ${which} AND (${wrong} OR ${late} OR ${isWrongResponse} OR ${areWrongLabels} OR ${isWronglyMerged})`;
}
