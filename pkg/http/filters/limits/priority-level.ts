import type { IncomingHttpHeaders } from 'node:http';
import { uncountedBytes } from '../../memory/byte-budget.ts';
import type { RequestContext } from '../../request/request-context.ts';

/** In the order in which they get free slots. */
export const priorityLevels = ['system', 'users', 'bulk'] as const;

/**
 * What a request competes with. `system`: what the platform itself needs, such as leases and controllers. `bulk`: large
 * lists and bodies. `users`: everything else.
 */
export type PriorityLevel = (typeof priorityLevels)[number];

/** Must be fast, and must not read the user: it is called for each request, also before authentication. */
export type LevelReader = (context: Pick<RequestContext, 'info' | 'query' | 'request'>) => PriorityLevel;

/** Large bodies are `bulk`. */
export const levelOfBody: LevelReader = ({ request }) => (hasLargeBody(request.headers) ? 'bulk' : 'users');

/** Whether the announced body is larger than 64 KiB, or of unknown length. */
export function hasLargeBody(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return length === undefined ? headers['transfer-encoding'] !== undefined : Number(length) > uncountedBytes;
}
