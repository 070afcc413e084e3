/** The schema of an e-mail in a get, whose fields depend on the permissions of the role. */
import { mailWarnings } from '../mail/parse/mail-warnings.ts';
import type { JsonSchema } from '../schema/field-type.ts';

const domainSchema = (description: string): JsonSchema => ({ type: ['string', 'null'], description });

const resultSchema: JsonSchema = {
  type: 'object',
  properties: {
    method: { type: 'string', enum: ['spf', 'dkim', 'dmarc', 'arc'] },
    result: {
      type: 'string',
      enum: ['none', 'pass', 'fail', 'softfail', 'policy', 'neutral', 'temperror', 'permerror'],
      description: 'As in RFC 8601.',
    },
    domain: domainSchema('The domain that signed (DKIM, ARC), that sent (SPF), or of the sender (DMARC).'),
    aligned: {
      type: ['boolean', 'null'],
      description: 'Whether that domain has the owner of the sender’s domain; null for DMARC and ARC.',
    },
    reason: { type: ['string', 'null'], description: 'Why the result is not `pass`, if that is known.' },
    source: {
      type: 'string',
      enum: ['checked', 'receiver', 'message'],
      description:
        '`checked`: by this server. `receiver`: by the mail server of the account. `message`: a header of the message, which anybody can have written; it does not count.',
    },
  },
};

const authenticationSchema: JsonSchema = {
  type: ['object', 'null'],
  description:
    'Checks of whether the e-mail was really sent by its sender. E-mails that an account receives are checked within seconds after they are stored; null if nothing is known.',
  properties: {
    verdict: {
      type: ['string', 'null'],
      enum: ['verified', 'forwarded', 'unaligned', 'failed', 'undetermined', 'unverified', null],
      description:
        '`verified`: the sender’s domain confirms the e-mail. `forwarded`: a trusted forwarder confirms it. `unaligned`: another domain signed or sent it. `failed`: by its DMARC policy, the sender’s domain does not confirm it. `undetermined`: name servers did not answer. `unverified`: nothing confirms the sender. null: it has not been checked.',
    },
    domain: domainSchema('The domain of the sender; null if From names none, or several.'),
    checkedAt: { type: ['string', 'null'], format: 'date-time' },
    results: { type: 'array', items: resultSchema },
  },
};

const warningsSchema: JsonSchema = {
  type: ['array', 'null'],
  description:
    'What a reader should know before trusting the e-mail. Hints, not verdicts: docs/mail-safety.md explains them.',
  items: { type: 'string', examples: Object.values(mailWarnings) },
};

const listSchema = (description: string): JsonSchema => ({
  type: ['array', 'null'],
  description,
  items: { type: 'string' },
});
const textOrNullSchema = (description: string): JsonSchema => ({ type: ['string', 'null'], description });

/** What the mail server of the account says about an e-mail. */
const serverSchemas: Readonly<Record<string, JsonSchema>> = {
  labels: listSchema(
    'Labels of the e-mail; they can be changed. The mail server has them as keywords (Gmail: as labels). Labels that are no keyword, for example because of a space, are only stored here.',
  ),
  keywords: listSchema('Keywords that mail programs and servers set, such as "$Junk"; read only.'),
  answered: { type: 'boolean', description: 'The e-mail was answered. Sending a reply sets it.' },
  forwarded: { type: 'boolean', description: 'The e-mail was forwarded. Sending a forwarded message sets it.' },
  deleted: { type: 'boolean', description: 'Another mail program has marked the e-mail to be deleted on the server.' },
  providerId: textOrNullSchema('The mail server’s id of the message: EMAILID, or X-GM-MSGID of Gmail.'),
  providerThreadId: textOrNullSchema('The mail server’s id of the conversation: THREADID, or X-GM-THRID of Gmail.'),
  bodyState: textOrNullSchema(
    '`complete`, `truncated`, `raw` or `unparsable`. `partial`: only headers and structure are stored. Getting the e-mail reads the body from the mail server; if that is not possible now, the e-mail is shown without it.',
  ),
};

/** An e-mail with its content. Which fields it has depends on what the role may read. */
export const emailSchema: JsonSchema = {
  type: 'object',
  required: ['id'],
  properties: { ...serverSchemas, authentication: authenticationSchema, warnings: warningsSchema },
};
