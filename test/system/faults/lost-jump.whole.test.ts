import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServedPlatform, type ServedPlatform } from '../../../cmd/svc/composition/platform/start-test-platform.ts';
import { pollUntil } from '../../../pkg/testenv/faults/poll-until.ts';
import { TakeoverPostgres } from '../../../pkg/testenv/takeover-postgres.ts';
import { checkHistory } from '../harness/history/checker/check-history.ts';
import { SeededRandom } from '../harness/seeded-random.ts';
import { ChangeLogRecorder } from '../harness/workload/change-log-recorder.ts';
import { concludeHistory, defineSampleModels, type RecordedRun } from '../harness/workload/conclude-history.ts';
import { Follower } from '../harness/workload/follower.ts';
import { MarkedWriter } from '../harness/workload/marked-writer.ts';
import { readMarks } from '../harness/workload/read-marks.ts';
import { definitionOf, definitionsPath, notes, pathOf, type SampleModel } from '../harness/workload/sample-models.ts';
import { Workload } from '../harness/workload/workload.ts';

const waitMs = 60_000;
/** Operations of the workload after the second takeover. */
const enough = 500;
/** Not a model of the workload, whose objects must all be made by it. */
const marks: SampleModel = { ...notes, name: 'marks.faults.svc.example', plural: 'marks', kind: 'Mark' };

let postgres: TakeoverPostgres;
let server: ServedPlatform;
let writer: MarkedWriter;
let followers: Follower[];

beforeAll(async () => {
  postgres = await TakeoverPostgres.start();
  server = await startServedPlatform(postgres);
  const { port } = server.platform.address;
  const { token } = server;
  expect((await server.call('POST', definitionsPath, definitionOf(marks))).status).toBe(201);
  await pollUntil(async () => (await server.call('GET', pathOf(marks))).status === 200, waitMs, 'the model');
  writer = new MarkedWriter({ id: 1, token, port, model: marks });
  followers = Array.from({ length: 2 }, () => new Follower({ token, port, path: pathOf(marks) }));
});
afterAll(async () => {
  await Promise.all([writer?.stop(), ...(followers ?? []).map((each) => each.stop())]);
  await server?.stop();
  await postgres?.stop();
});

/** Waits until a write after `since` is acknowledged and all followers have seen it. Returns its revision. */
async function seenWrite(since: number): Promise<number> {
  const next = (): number | undefined => writer.acknowledged.find((_, i) => i >= since)?.revision;
  await pollUntil(() => next() !== undefined, waitMs, 'an acknowledged write');
  await pollUntil(() => followers.every(({ position }) => position >= next()!), waitMs, 'the followers to see it');
  return next()!;
}

async function rebuilt(times: number): Promise<void> {
  const rebuilds = (): number => server.lines.filter(({ msg }) => msg === 'rebuilt the state after a failover').length;
  await pollUntil(() => rebuilds() === times, waitMs, `rebuild ${times}`);
}

async function continueToken(): Promise<string> {
  const { body } = await server.call('GET', `${pathOf(marks)}?limit=1`);
  return body.metadata.continue;
}

/** The status of a watch, a list and a list at exactly this revision. */
async function statusesOf(revision: number): Promise<number[]> {
  const watch = await server.call('GET', `${pathOf(marks)}?watch=true&timeoutSeconds=1&resourceVersion=${revision}`);
  const lists = await Promise.all(
    ['', '&resourceVersionMatch=Exact&limit=1'].map((more) =>
      server.call('GET', `${pathOf(marks)}?resourceVersion=${revision}${more}`),
    ),
  );
  return [watch.text.includes('"code":410') ? 410 : watch.status, ...lists.map(({ status }) => status)];
}

test('a jump that a second takeover loses is made again, and whoever knows a revision of either gap is told', async () => {
  let failure: string | undefined;
  void server.platform.failed?.then((reason) => (failure = reason));
  for (const one of [writer, ...followers]) one.start();
  await seenWrite(5);
  const first = await postgres.copyStandby();
  const lost = [await seenWrite(writer.acknowledged.length)];
  const tokens = [await continueToken()];

  const second = await postgres.takeOver(first);
  await rebuilt(1);
  const [firstGap] = await gaps();
  const { after: keptRevision, upTo: firstJump } = firstGap!;
  expect(lost[0]).toBeGreaterThan(keptRevision);
  lost.push(await seenWrite(writer.acknowledged.length));
  tokens.push(await continueToken());
  expect(lost[1]).toBeGreaterThan(firstJump);

  await postgres.takeOver(second);
  await rebuilt(2);
  const again = await seenWrite(writer.acknowledged.length);
  const [gap, ...others] = await gaps();
  expect([gap?.after, others]).toEqual([keptRevision, []]);
  expect(again).toBeGreaterThan(gap!.upTo);
  for (const revision of [keptRevision + 1, ...lost, firstJump, gap!.upTo])
    expect([revision, ...(await statusesOf(revision))]).toEqual([revision, 410, 410, 410]);
  for (const token of tokens)
    expect((await server.call('GET', `${pathOf(marks)}?limit=1&continue=${token}`)).status).toBe(410);
  const fromKept = await statusesOf(keptRevision);
  expect(fromKept.slice(0, 2)).toEqual([200, 200]);

  await writer.stop();
  const revisions = writer.acknowledged.map(({ revision }) => revision);
  expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
  expect(new Set(revisions).size).toBe(revisions.length);
  const present = await readMarks(postgres, marks);
  await pollUntil(
    () =>
      followers.every(
        ({ objects }) =>
          objects.size === present.size && [...objects].every(([name, state]) => present.get(name) === state),
      ),
    waitMs,
    'the followers to hold what the database holds',
  );
  for (const { contradictions, resets } of followers) {
    expect(contradictions).toEqual([]);
    expect(resets.map(({ position }) => position > firstJump)).toEqual([false, true]);
  }
  const [meta] = await postgres.query('SELECT epoch, timeline FROM platform.meta');
  expect(meta).toEqual({ epoch: 1, timeline: '00000003' });
  expect(await violationsAfterwards()).toEqual([]);
  expect(failure).toBeUndefined();
});

/** What clients see from now on, checked against the log. */
async function violationsAfterwards(): Promise<string[]> {
  const target = { name: 'the server', port: server.platform.address.port };
  const run: RecordedRun = {
    seed: 1,
    workload: new Workload({
      targets: [target],
      token: server.token,
      random: new SeededRandom(1),
      writers: 4,
      readers: 2,
    }),
    recorder: await ChangeLogRecorder.start(postgres),
    database: postgres,
    replicas: [target],
    modelChanges: [],
    faults: [],
    problems: [],
  };
  await defineSampleModels(run);
  run.workload.start();
  const { operations } = run.workload.operationLog;
  await pollUntil(() => operations.length >= enough, waitMs, 'the workload');
  const { violations } = checkHistory(await concludeHistory(run));
  return [...violations.map(({ rule, text }) => `${rule}: ${text}`), ...run.problems];
}

async function gaps(): Promise<{ after: number; upTo: number }[]> {
  const rows = await postgres.query<{ after: string; up_to: string }>(
    'SELECT after, up_to FROM platform.gaps ORDER BY after',
  );
  return rows.map(({ after, up_to }) => ({ after: Number(after), upTo: Number(up_to) }));
}
