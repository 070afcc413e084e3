/**
 * The pages to which the messages of campaigns lead, without a credential. `/unsubscribe/<token>`: a GET only shows a button, because mail
 * scanners follow links; a POST unsubscribes, and mail programs send it for their own button (RFC 8058). `/campaign-open/<token>` and
 * `/campaign-link/<token>` count that a message or a link was opened; a link leads to the address that its token contains.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Applications } from '../applications/applications.ts';
import type { RecipientActions } from '../mail/campaigns/recipient-actions.ts';
import type { Callers } from './callers.ts';
import { discardRest } from './discard-rest.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Replies } from './replies.ts';
import { found, notFound, ok } from './status.ts';

export interface RecipientPageParts {
  readonly applications: Applications;
  readonly callers: Callers;
  readonly replies: Replies;
  readonly limits: RateLimits;
}

const style =
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;color:#1f2328;background:#fff}' +
  'button{font:inherit;padding:.6rem 1.2rem;border:0;border-radius:.4rem;background:#0b5cad;color:#fff;cursor:pointer}' +
  '@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}}';
const styleHash = createHash('sha256').update(style).digest('base64');

const commonHeaders = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
  'referrer-policy': 'no-referrer',
};
const pageHeaders = {
  ...commonHeaders,
  'content-type': 'text/html; charset=utf-8',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};
/** A transparent image of one pixel. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** Answers a request with the actions of the application that its token names; null: the application does not exist. */
type Answer = (
  actions: RecipientActions | null,
  token: string,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply>;

/** Registers the routes of the pages. */
export function registerRecipientPages(fastify: FastifyInstance, parts: RecipientPageParts): void {
  const pages = [
    ['/unsubscribe/', ['GET', 'POST'], answerUnsubscribe],
    ['/campaign-open/', ['GET'], answerOpen],
    ['/campaign-link/', ['GET'], answerLink],
  ] as const satisfies readonly (readonly [string, readonly string[], Answer])[];
  for (const [path, method, answer] of pages)
    fastify.route({
      method: [...method],
      url: `${path}*`, // a wildcard, because the length of parameters is limited
      handler: (request, reply) => run(parts, answer, request, reply),
    });
}

async function run(
  { applications, callers, limits, replies }: RecipientPageParts,
  answer: Answer,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  try {
    discardRest(request.raw);
    limits.countAnonymous(callers.readClientAddress(request));
    const token = (request.params as { readonly '*': string })['*'];
    const { readTokenTarget } = await import('../mail/campaigns/campaign-token.ts');
    const target = readTokenTarget(token);
    const lease = target && (await applications.find(target.application));
    try {
      const actions = lease && !lease.error ? await lease.application.mail.loadRecipientActions() : null;
      return await answer(actions, token, request, reply);
    } finally {
      lease?.release();
    }
  } catch (error) {
    return replies.refuse(error, request, reply);
  }
}

const answerUnsubscribe: Answer = async (actions, token, { method }, reply) => {
  const sender = await actions?.findSender(token);
  if (!actions || !sender) return sendInvalid(reply);
  const { escapeText } = await import('../mail/html/escape-text.ts');
  const name = escapeText(sender);
  if (method === 'POST') {
    await actions.unsubscribe(token);
    return send(reply, ok, 'You are unsubscribed', `<p>You will not receive any more campaigns from ${name}.</p>`);
  }
  const form = `<p>Do you want to stop receiving campaigns from ${name}?</p><form method="post"><button type="submit">Unsubscribe</button></form>`;
  return send(reply, ok, 'Unsubscribe', form);
};

/** Always an image, so that it tells nothing about tokens. */
const answerOpen: Answer = async (actions, token, { method }, reply) => {
  if (method !== 'HEAD') await actions?.open(token);
  return reply.headers({ ...commonHeaders, 'content-type': 'image/gif' }).send(pixel);
};

const answerLink: Answer = async (actions, token, { method }, reply) => {
  const address = await (method === 'HEAD' ? actions?.findAddress(token) : actions?.click(token));
  if (!address) return sendInvalid(reply);
  return reply
    .code(found)
    .headers({ ...commonHeaders, location: new URL(address).href })
    .send();
};

function sendInvalid(reply: FastifyReply): FastifyReply {
  return send(reply, notFound, 'The link is not valid', '<p>Open the link in the newest message again.</p>');
}

function send(reply: FastifyReply, status: number, title: string, content: string): FastifyReply {
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${style}</style></head><body><main><h1>${title}</h1>${content}</main></body></html>`;
  return reply.code(status).headers(pageHeaders).send(page);
}
