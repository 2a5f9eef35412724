import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { startTestEnv, type TestEnv } from '../../../pkg/testenv/index.ts';
import { areas } from './areas/index.ts';
import { FuzzRun } from './fuzz-run.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { platformJudge } from './oracles/judge-platform.ts';
import { readPlatformState } from './oracles/platform-state.ts';
import { StateDigest } from './oracles/state-digest.ts';
import { violation } from './violation.ts';
import { createFuzzTargets, type FuzzTargets } from './fuzz-targets.ts';

let env: TestEnv;
let target: FuzzTarget;
let fixtures: FuzzTargets;
const errors: string[] = [];

beforeAll(async () => {
  env = await startTestEnv({ log: pino({ level: 'error' }, { write: (line: string) => void errors.push(line) }) });
  const call: FuzzTarget['call'] = async (method, path, body) => {
    const response = await env.request(path, { method, ...(body === undefined ? {} : { body }) });
    return { status: response.status, body: await response.json() };
  };
  target = {
    port: Number(new URL(env.url).port),
    token: env.token,
    secrets: [env.token.slice(4, 30)],
    digest: await StateDigest.open(env.connection, readPlatformState),
    judge: platformJudge,
    call,
    health: async () => ((await fetch(`${env.url}/livez`)).ok ? undefined : violation('server silent', '/livez')),
    takeErrors: () => errors.splice(0),
    takeHolds: async () => [],
  };
  fixtures = await createFuzzTargets(call, target);
});

afterAll(async () => {
  await target?.digest.close();
  await env?.stop();
});

/** Definitions are slow to create, and have many requests each. */
const sampled = areas.map((area) => (area.name === 'definitions' ? { ...area, weight: 0.1 } : area));

test.each(['svc', process.env['SVC_TEST_SEED'] ?? 'another'])(
  'hostile requests are answered according to the contract, and leave the server unchanged: seed %s',
  async (seed) => {
    const run = new FuzzRun({ target, seed, areas: sampled, fixtures, concurrency: 32, slow: false });
    await run.batch('free', 800);
    await run.batch('quiet', 500);
    await run.batch('exclusive', 25);
    const report = await run.finish();
    if (report.findings.size > 0) throw new Error(`seed ${seed}\n${report.toString()}`);
    expect(report.requests).toBeGreaterThan(1000);
    expect(Object.prototype).not.toHaveProperty('a');
  },
);
