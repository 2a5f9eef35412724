import type { FuzzRequest } from '../fuzz-case.ts';
import { violation, type Violation } from '../violation.ts';
import { headerOf, type Answer } from '../wire/answer.ts';
import type { Outcome } from '../wire/wire-client.ts';
import { findLeak } from './find-leak.ts';
import { judgeFailure } from './judge-failure.ts';
import { judgeSuccess } from './judge-success.ts';

/** What the contract lets a server answer to anything at all; 5xx are looked at one by one. */
const known = new Set([200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 410, 412, 413, 414, 415, 417, 422, 429, 431, 503, 504]);
const requestId = /^[A-Za-z0-9._-]{1,64}$/;

/** The first thing that is wrong with what came of one request, whatever it was; source: extension-api.md, sections 1, 2 and 4. */
export function judgeOutcome(request: FuzzRequest, { answers, failure }: Outcome, secrets: readonly string[]): Violation | undefined {
  if (failure === 'silent') return violation('no answer', 'neither an answer nor the end of the connection within the time limit');
  if (failure === 'closed') return violation('no answer', 'the connection was closed without an answer');
  if (failure === 'refused') return violation('server gone', 'the connection was refused');
  if (failure !== undefined) return violation('malformed answer', failure.malformed);
  if (request.raw === undefined && answers.length !== 1) return violation('malformed answer', `${answers.length} answers to one request`);
  for (const answer of answers) {
    const found = judgeAnswer(request, answer, secrets);
    if (found !== undefined) return found;
  }
  return undefined;
}

function judgeAnswer(request: FuzzRequest, answer: Answer, secrets: readonly string[]): Violation | undefined {
  const { status } = answer;
  if (status >= 500 && status !== 503 && status !== 504) return violation('unnamed 5xx', `${status}: ${answer.body.toString('utf8', 0, 300)}`);
  // The page of the documentation is no API path.
  if (status === 308 && headerOf(answer, 'location') === '../docs') return undefined;
  if (!known.has(status)) return violation('unknown status', String(status));
  const leak = findLeak(answer, secrets);
  if (leak !== undefined) return violation('leak', leak);
  const headers = judgeHeaders(answer);
  if (headers !== undefined) return violation('headers', headers);
  return status >= 400 ? judgeFailure(request, answer) : judgeSuccess(request, answer);
}

function judgeHeaders(answer: Answer): string | undefined {
  const { status, headers } = answer;
  for (const [name, values] of headers) if (values.length > 1 && name !== 'warning' && name !== 'vary') return `${name} is there ${values.length} times`;
  if (!requestId.test(headerOf(answer, 'x-request-id') ?? '')) return 'no X-Request-Id';
  if (headerOf(answer, 'x-content-type-options') !== 'nosniff') return 'no X-Content-Type-Options';
  if (status >= 400 && headerOf(answer, 'cache-control') !== 'no-cache, private') return `Cache-Control: ${headerOf(answer, 'cache-control')}`;
  if (status === 401 && !headers.has('www-authenticate')) return 'a 401 without WWW-Authenticate';
  if (status === 405 && !headers.has('allow')) return 'a 405 without Allow';
  if ((status === 429 || status === 503 || status === 504) && !/^\d+$/.test(headerOf(answer, 'retry-after') ?? '')) return `a ${status} without Retry-After`;
  const moved = headerOf(answer, 'location');
  if (moved !== undefined && status !== 201) return `Location: ${moved}`;
  return undefined;
}
