import type { ServerLogin } from './server-login.ts';
import { toMailServerProblem } from './to-mail-server-problem.ts';

/**
 * Connects. If the server refuses the access token, which may happen before it expires, connects once more with a new one.
 *
 * @throws MailServerProblem; the reason of the signal if it is aborted.
 */
export async function withRenewedToken<T>(
  login: ServerLogin,
  signal: AbortSignal | undefined,
  connect: (login: ServerLogin) => Promise<T>,
): Promise<T> {
  try {
    return await connect(login);
  } catch (error) {
    signal?.throwIfAborted();
    const problem = toMailServerProblem(error, login);
    const renew = login.auth.kind === 'oauth2' ? login.auth.renew : undefined;
    if (problem.code !== 'tokenRevoked' || !renew) throw problem;
    const renewed = await renew();
    return connect(renewed).catch((again: unknown) => {
      signal?.throwIfAborted();
      throw toMailServerProblem(again, renewed);
    });
  }
}
