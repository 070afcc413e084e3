/** Templates of messages, in addition to the generated actions. */
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { getRecord, requireGrant } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { CampaignContent } from '../campaigns/campaign-template.ts';
import { fillMessageTemplate, findFirstName, type MessageVariables } from '../compose/fill-template.ts';
import { parseMailAddress } from '../compose/mail-input.ts';
import type { MailData, MailRequest } from './mail-request.ts';

type Fields = Readonly<Record<string, unknown>>;

/** `mailTemplates:fill`: a template with the values for one message. */
export async function runFillTemplate(request: MailRequest): Promise<MailData> {
  const { context } = request;
  requireGrant(context, context.registry.get('mailTemplates'), 'get');
  // The members of the body of a read are its parameters.
  const parameters = request.knownParameters(['filterByTk', 'id', 'recipient', 'conversation'], false);
  const { filterByTk, id, recipient, conversation } = parameters;
  const template = await readFields(context, 'mailTemplates', parseTemplateKey(filterByTk, id));
  const { subject = '', text = null, html = null } = template as Partial<CampaignContent>;
  const values = {
    ...readRecipient(recipient),
    ...(await readAccount(context, template['accountId'])),
    ...(await readConversation(context, conversation)),
    ...readUser(context),
  };
  return { data: JSON.stringify(fillMessageTemplate({ subject, text, html }, values)) };
}

function readRecipient(recipient: unknown): MessageVariables {
  if (recipient === undefined || recipient === null || recipient === '') return {};
  const parsed = parseMailAddress(recipient);
  if (!parsed) throw invalidValues({ recipient: 'Give one e-mail address, such as ann@example.com.' });
  const { name, address } = parsed;
  return {
    recipientName: name,
    recipientFirstName: findFirstName(name ?? ''),
    recipientAddress: address,
  };
}

async function readAccount(context: RecordContext, id: unknown): Promise<MessageVariables> {
  if (typeof id !== 'number' || !context.findGrant('accounts', 'get')) return {};
  const { name, address } = await readFields(context, 'accounts', id);
  return { accountName: name, accountAddress: address };
}

async function readConversation(context: RecordContext, id: unknown): Promise<MessageVariables> {
  if (id === undefined || id === null || id === '') return {};
  const { subject } = await readFields(context, 'conversations', parseKey(id, 'conversation'));
  return { conversationSubject: subject };
}

/** Name and address of the caller, who may always see them. */
function readUser({ caller }: RecordContext): MessageVariables {
  const { nickname, username, email } = caller.user ?? {};
  return { userName: nickname || username, userEmail: email };
}

/** A record as the caller may see it. @throws ApiError as a get does. */
async function readFields(context: RecordContext, collection: string, key: number): Promise<Fields> {
  const request = normaliseRequest('get', { filterByTk: key }, false);
  return JSON.parse((await getRecord(context, context.registry.get(collection), request)).data) as Fields;
}

/** @throws ApiError 400 if both parameters are given and name different templates. */
function parseTemplateKey(filterByTk: unknown, id: unknown): number {
  const key = parseKey(filterByTk ?? id, 'filterByTk');
  if (id !== undefined && parseKey(id, 'filterByTk') !== key)
    throw new ApiError('PARAMETER_INVALID', '"filterByTk" and "id" name different templates. Send only one of them.');
  return key;
}

function parseKey(id: unknown, name: string): number {
  const key = typeof id === 'string' && /^\d{1,9}$/.test(id) ? Number(id) : id;
  if (typeof key === 'number' && Number.isSafeInteger(key)) return key;
  throw name === 'filterByTk'
    ? new ApiError('TARGET_MISSING', 'Name the template by "id" or "filterByTk".')
    : invalidValues({ [name]: 'Give the id of a record.' });
}
