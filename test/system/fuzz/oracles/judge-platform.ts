import type { WireRequest } from '../../harness/wire/wire-request.ts';
import { violation, type Violation } from '../violation.ts';
import { headerOf, type Answer } from '../../harness/wire/answer.ts';
import { judgeFailure } from './judge-failure.ts';
import { outcomeJudge } from './judge-outcome.ts';
import { judgeSuccess } from './judge-success.ts';
import { judgeWebSocket } from './judge-web-socket.ts';

/** Statuses that the contract allows for any request; 5xx are checked separately. */
const known = new Set([
  200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 410, 412, 413, 414, 415, 417, 422, 429, 431, 503, 504,
]);

/** To pages, which are not API paths: the reference, the console and the user center. */
const redirects = new Set(['308 ../docs', '308 ./console/', '302 ./console/', '308 ./uc/']);

/** The content platform's contract; source: extension-api.md, sections 1, 2 and 4. */
export const platformJudge = outcomeJudge(judgeAnswer);

function judgeAnswer(request: WireRequest, answer: Answer): Violation | undefined {
  const { status } = answer;
  const location = headerOf(answer, 'location');
  if (redirects.has(`${status} ${location}`)) return undefined;
  if (status === 101) return judgeWebSocket(answer);
  if (!known.has(status)) return violation('unknown status', String(status));
  if (status >= 400 && headerOf(answer, 'cache-control') !== 'no-cache, private')
    return violation('headers', `Cache-Control: ${headerOf(answer, 'cache-control')}`);
  if (location !== undefined && status !== 201) return violation('headers', `Location: ${location}`);
  return status >= 400 ? judgeFailure(request, answer) : judgeSuccess(request, answer);
}
