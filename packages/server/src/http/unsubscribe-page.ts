/**
 * `/unsubscribe/<token>`: the page on which a recipient of a campaign unsubscribes, without a credential. A GET only shows a button, because
 * mail scanners follow links. A POST unsubscribes; mail programs send it for their own button (RFC 8058).
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Applications } from '../applications/applications.ts';
import { readUnsubscribeToken } from '../mail/campaigns/unsubscribe-token.ts';
import { escapeText } from '../mail/html/escape-text.ts';
import type { Callers } from './callers.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Replies } from './replies.ts';
import { discardRest } from './request-body.ts';
import { notFound, ok } from './status.ts';

export interface UnsubscribePageParts {
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

const headers = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Registers the routes of the page. */
export function registerUnsubscribePage(fastify: FastifyInstance, parts: UnsubscribePageParts): void {
  fastify.route<{ Params: { token: string } }>({
    method: ['GET', 'POST'],
    url: '/unsubscribe/:token',
    handler: async (request, reply) => {
      try {
        discardRest(request.raw);
        parts.limits.countAnonymous(parts.callers.readClientAddress(request));
        return await answer(parts, request, reply);
      } catch (error) {
        return parts.replies.refuse(error, request, reply);
      }
    },
  });
}

async function answer(
  { applications }: UnsubscribePageParts,
  { method, params: { token } }: FastifyRequest<{ Params: { token: string } }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const target = readUnsubscribeToken(token);
  const lease = target && (await applications.find(target.application));
  try {
    const page = lease && !lease.error ? lease.application.mail.unsubscriptions : null;
    const sender = page && (await page.findSender(token));
    if (!page || !sender)
      return send(reply, notFound, 'The link is not valid', '<p>Open the link in the newest message again.</p>');
    const name = escapeText(sender);
    if (method === 'POST') {
      await page.unsubscribe(token);
      return send(reply, ok, 'You are unsubscribed', `<p>You will get no more campaigns from ${name}.</p>`);
    }
    const form = `<p>Do you want to get no more campaigns from ${name}?</p><form method="post"><button type="submit">Unsubscribe</button></form>`;
    return send(reply, ok, 'Unsubscribe', form);
  } finally {
    lease?.release();
  }
}

function send(reply: FastifyReply, status: number, title: string, content: string): FastifyReply {
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${style}</style></head><body><main><h1>${title}</h1>${content}</main></body></html>`;
  return reply.code(status).headers(headers).send(page);
}
