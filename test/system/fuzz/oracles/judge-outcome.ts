import type { WireRequest } from '../../harness/wire/wire-request.ts';
import { violation, type Violation } from '../violation.ts';
import { headerOf, type Answer } from '../../harness/wire/answer.ts';
import type { Outcome } from '../../harness/wire/wire-client.ts';
import { acceptedMistake } from './accepted-mistake.ts';
import { findLeak } from './find-leak.ts';

const requestId = /^[A-Za-z0-9._-]{1,64}$/;
const repeatable: ReadonlySet<string> = new Set(['set-cookie', 'vary', 'warning', 'www-authenticate']);

/** The first problem with the result of one request of any kind. */
export type OutcomeJudge = (
  request: WireRequest,
  outcome: Outcome,
  secrets: readonly string[],
) => Violation | undefined;
export type AnswerJudge = (request: WireRequest, answer: Answer) => Violation | undefined;

/** `judgeAnswer` checks the contract, after general checks: a complete response without internal errors or details. */
export function outcomeJudge(judgeAnswer: AnswerJudge): OutcomeJudge {
  return (request, outcome, secrets) => judgeOutcome(request, outcome, { secrets, judgeAnswer });
}

function judgeOutcome(
  request: WireRequest,
  { answers, failure }: Outcome,
  { secrets, judgeAnswer }: { secrets: readonly string[]; judgeAnswer: AnswerJudge },
): Violation | undefined {
  if (failure === 'silent')
    return violation('no answer', 'neither an answer nor the end of the connection within the time limit');
  if (failure === 'closed') return violation('no answer', 'the connection was closed without an answer');
  if (failure === 'refused') return violation('server gone', 'the connection was refused');
  if (failure !== undefined) return violation('malformed answer', failure.malformed);
  if (request.raw === undefined && answers.length !== 1)
    return violation('malformed answer', `${answers.length} answers to one request`);
  for (const answer of answers) {
    const found = judgeAny(answer, secrets) ?? judgeAccepted(request, answer) ?? judgeAnswer(request, answer);
    if (found !== undefined) return found;
  }
  return undefined;
}

function judgeAny(answer: Answer, secrets: readonly string[]): Violation | undefined {
  const { status } = answer;
  if (status >= 500 && status !== 503 && status !== 504)
    return violation('unnamed 5xx', `${status}: ${answer.body.toString('utf8', 0, 300)}`);
  const leak = findLeak(answer, secrets);
  if (leak !== undefined) return violation('leak', leak);
  const wrong = judgeHeaders(answer);
  return wrong === undefined ? undefined : violation('headers', wrong);
}

function judgeAccepted(request: WireRequest, answer: Answer): Violation | undefined {
  const mistake = acceptedMistake(request, answer);
  return mistake === undefined ? undefined : violation('wrong answer', mistake);
}

function judgeHeaders(answer: Answer): string | undefined {
  const { status, headers } = answer;
  for (const [name, values] of headers)
    if (values.length > 1 && !repeatable.has(name)) return `${name} is there ${values.length} times`;
  if (!requestId.test(headerOf(answer, 'x-request-id') ?? '')) return 'no X-Request-Id';
  if (headerOf(answer, 'x-content-type-options') !== 'nosniff') return 'no X-Content-Type-Options';
  if (status === 401 && !headers.has('www-authenticate')) return 'a 401 without WWW-Authenticate';
  if (status === 405 && !headers.has('allow')) return 'a 405 without Allow';
  if ((status === 429 || status === 503 || status === 504) && !/^\d+$/.test(headerOf(answer, 'retry-after') ?? ''))
    return `a ${status} without Retry-After`;
  return undefined;
}
