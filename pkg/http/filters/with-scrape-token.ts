import { createHash, timingSafeEqual } from 'node:crypto';
import type { Filter, Handler } from '../request/request-context.ts';
import { bearerToken } from '../request/bearer-authenticator.ts';

/** Reads the token that `/metrics` accepts now. */
export type ScrapeToken = () => Promise<string>;

/**
 * Answers `/metrics` to the holder of the scrape token, without the database and without any limit of other requests:
 * metrics are needed most when those fail. Another credential, another path, and every request without a scrape token
 * go on. Compares in constant time.
 */
export function withScrapeToken(token: ScrapeToken | undefined, metrics: Handler): Filter {
  if (token === undefined) return (next) => next;
  return (next) => async (context) => {
    const given = context.info.path === '/metrics' ? bearerToken(context.request) : undefined;
    const isScrape = given !== undefined && timingSafeEqual(digestOf(given), digestOf(await token()));
    await (isScrape ? metrics : next)(context);
  };
}

/** Digests have one length, so the time does not depend on the token's. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
