import type { WireRequest } from '../harness/wire/wire-request.ts';
import type { FuzzCase } from './fuzz-case.ts';
import type { OutcomeJudge } from './oracles/judge-outcome.ts';
import type { State, StateDigest } from './oracles/state-digest.ts';
import { violation, type Violation } from './violation.ts';
import type { Answer } from '../harness/wire/answer.ts';
import type { Outcome, WireClient } from '../harness/wire/wire-client.ts';

export interface CaseRun {
  found?: Violation;
  /** The index of the request with the violation. */
  at?: number;
  outcomes: Outcome[];
}

export interface CaseContext {
  client: WireClient;
  secrets: readonly string[];
  judge: OutcomeJudge;
  /** Given if nothing else writes at the same time: a refused request must not change the state. */
  digest?: StateDigest;
}

/** Sends the requests of a case in sequence and checks each; ends at the first violation. */
export async function runCase(fuzzCase: FuzzCase, { client, secrets, judge, digest }: CaseContext): Promise<CaseRun> {
  const outcomes: Outcome[] = [];
  const settles = fuzzCase.area === 'definitions';
  let state = digest === undefined ? undefined : await takeState(digest, settles);
  for (const [at, request] of fuzzCase.requests.entries()) {
    const outcome = await client.send(request, fuzzCase.slow);
    outcomes.push(outcome);
    const found = judge(request, outcome, secrets);
    if (found !== undefined) return { found, at, outcomes };
    if (digest === undefined) continue;
    const after = await takeState(digest, settles);
    const isOther = state !== undefined && after.own === state.own && after.others !== state.others;
    const isChanged =
      state !== undefined && (after.own !== state.own || (isOther && (await changesOthers(client, digest, request))));
    if (isChanged && mustNotChange(fuzzCase, request, outcome))
      return { found: violation('state changed', `by ${describe(request, outcome)}`), at, outcomes };
    state = after;
  }
  const wrong = fuzzCase.judge?.(outcomes.map(({ answers }): Answer | undefined => answers[0]));
  return wrong === undefined ? { outcomes } : { found: violation('wrong answer', wrong), outcomes };
}

/** Work that a definition causes continues after its response. */
function takeState(digest: StateDigest, settles: boolean): Promise<State> {
  return settles ? digest.settled() : digest.take();
}

/** Checks whether the change came from the server's own work on definitions, which may have ended just then. */
async function changesOthers(client: WireClient, digest: StateDigest, request: WireRequest): Promise<boolean> {
  for (let i = 0; i < 2; i += 1) {
    const before = await digest.settled();
    await client.send(request);
    if ((await digest.settled()).others === before.others) return false;
  }
  return true;
}

function mustNotChange({ changes }: FuzzCase, { target, raw }: WireRequest, { answers }: Outcome): boolean {
  if (changes === 'never') return true;
  if (raw === undefined && /[?&]dryRun=All(?:&|$)/.test(target)) return true;
  return answers.length > 0 && answers.every(({ status }) => status >= 400);
}

function describe({ method, target, raw }: WireRequest, { answers }: Outcome): string {
  const statuses = answers.map(({ status }) => status).join(', ');
  return `${raw === undefined ? `${method} ${target.slice(0, 200)}` : 'raw bytes'}, answered ${statuses === '' ? 'not at all' : statuses}`;
}

/** The cases that ran in a batch, to find the cause of a problem. */
export interface CompletedCase {
  number: number;
  fuzzCase: FuzzCase;
  began: number;
  ended: number;
  /** Bytes sent and received: large requests are more likely to block. */
  bytes: number;
}
