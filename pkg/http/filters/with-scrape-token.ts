import type { Filter, Handler } from '../request/request-context.ts';
import { bearerToken } from '../request/bearer-authenticator.ts';
import { isSameToken } from '../request/is-same-token.ts';

/** Reads the token that `/metrics` accepts now. */
export type ScrapeToken = () => Promise<string>;

/**
 * Answers `/metrics` to the holder of the scrape token, without the database and without any limit of other requests:
 * metrics are needed most when those fail. Another credential, another path, and every request without a scrape token
 * go on.
 */
export function withScrapeToken(token: ScrapeToken | undefined, metrics: Handler): Filter {
  if (token === undefined) return (next) => next;
  return (next) => async (context) => {
    const given = context.info.path === '/metrics' ? bearerToken(context.request) : undefined;
    const isScrape = given !== undefined && isSameToken(given, await token());
    await (isScrape ? metrics : next)(context);
  };
}
