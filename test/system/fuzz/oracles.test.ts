import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import { BadServer, type Fault } from './bad-server.ts';
import { get, json, type WireRequest } from '../harness/wire/wire-request.ts';
import type { AttackArea, FuzzCase } from './fuzz-case.ts';
import type { FuzzTarget, Hold } from './fuzz-target.ts';
import { FuzzRun } from './fuzz-run.ts';
import { HoldCheck } from './hold-check.ts';
import { exactDifference, parseExact } from './oracles/exact-json.ts';
import { platformJudge } from './oracles/judge-platform.ts';
import type { StateDigest } from './oracles/state-digest.ts';
import type { Rule } from './violation.ts';

let servers: BadServer[] = [];

afterEach(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  servers = [];
});

const area: AttackArea = {
  name: 'test',
  weight: 1,
  generate: () => ({ changes: 'never', requests: [get('/x'), json('POST', '/x', '{}')] }),
};
const fixtures = {
  token: 't',
  posts: '',
  notes: '',
  shapes: '',
  frees: '',
  continueTokens: [],
  revision: 1,
  secrets: [],
};

interface Facts {
  state?: () => number;
  others?: () => number;
  holds?: () => Hold[];
  errors?: string[];
}

function targetOf(
  { port }: BadServer,
  { state = () => 0, others = () => 0, holds = () => [], errors = [] }: Facts = {},
): FuzzTarget {
  const digest = {
    take: async () => ({ own: String(state()), others: String(others()) }),
    settled: async () => ({ own: String(state()), others: String(others()) }),
  } as StateDigest;
  return {
    port,
    token: 't',
    secrets: ['hunter2'],
    digest,
    judge: platformJudge,
    call: () => Promise.reject(new Error('not for this')),
    health: async () => undefined,
    takeErrors: () => errors.splice(0),
    takeHolds: async () => holds(),
  };
}

async function start(fault: () => Fault, onRequest?: () => Promise<void>): Promise<BadServer> {
  const server = await BadServer.start(fault, onRequest);
  servers.push(server);
  return server;
}

async function findings(
  target: FuzzTarget,
  mode: 'free' | 'quiet' | 'exclusive' = 'free',
  areas: readonly AttackArea[] = [area],
): Promise<Rule[]> {
  const run = new FuzzRun({ target, seed: 's', areas, fixtures, concurrency: 2, slow: false, limitMs: 200 });
  await run.batch(mode, 3);
  const { findings: found } = await run.finish();
  return [...found.values()].map(({ rule }) => rule);
}

describe('an answer', () => {
  const cases: [Fault, Rule | undefined][] = [
    ['well', undefined],
    ['internal error', 'unnamed 5xx'],
    ['unnamed 503', 'unnamed 5xx'],
    ['stack', 'leak'],
    ['sql', 'leak'],
    ['secret', 'leak'],
    ['hang', 'no answer'],
    ['never ends', 'no answer'],
    ['close', 'no answer'],
    ['garble', 'malformed answer'],
    ['two answers', 'malformed answer'],
    ['wrong code', 'failure body'],
    ['html', 'failure body'],
    ['lone surrogate', 'failure body'],
    ['no cause', 'causes'],
    ['no request id', 'headers'],
    ['no retry', 'headers'],
    ['no challenge', 'headers'],
    ['no location', 'headers'],
    ['redirect', 'unknown status'],
    ['prototype key', 'success body'],
  ];
  test.each(cases)('%s: %s', async (fault, rule) => {
    const found = await findings(targetOf(await start(() => fault)));
    expect(found[0]).toBe(rule);
  });
});

describe('the state', () => {
  test.each(['quiet', 'exclusive'] as const)(
    'is compared around requests that must not change it: %s',
    async (mode) => {
      let state = 0;
      const writes = async (): Promise<void> => {
        state += 1;
      };
      expect(await findings(targetOf(await start(() => 'well', writes), { state: () => state }), mode)).toContain(
        'state changed',
      );
      expect(await findings(targetOf(await start(() => 'well'), { state: () => state }), mode)).toEqual([]);
    },
  );

  test('may be changed by an accepted write, not by a refused one', async () => {
    let state = 0;
    const writes = async (): Promise<void> => {
      state += 1;
    };
    const writing: AttackArea = {
      ...area,
      generate: () => ({ changes: 'maybe', requests: [json('POST', '/x', '{}')] }),
    };
    expect(
      await findings(targetOf(await start(() => 'well', writes), { state: () => state }), 'exclusive', [writing]),
    ).toEqual([]);
    const forbidden: AttackArea = {
      ...area,
      generate: () => ({ changes: 'maybe', requests: [json('POST', '/x?dryRun=All', '{}')] }),
    };
    expect(
      await findings(targetOf(await start(() => 'well', writes), { state: () => state }), 'exclusive', [forbidden]),
    ).toContain('state changed');
  });
});

test('changes by the server itself are not attributed to a request, unless every repetition causes them', async () => {
  let background = 0;
  expect(
    await findings(
      targetOf(await start(() => 'well'), { others: () => ((background += 1) < 4 ? background : 4) }),
      'exclusive',
    ),
  ).toEqual([]);
  let written = 0;
  const writes = async (): Promise<void> => {
    written += 1;
  };
  expect(await findings(targetOf(await start(() => 'well', writes), { others: () => written }), 'exclusive')).toContain(
    'state changed',
  );
});

test('problems that an area finds count', async () => {
  const judging: AttackArea = {
    ...area,
    generate: () => ({
      changes: 'never',
      requests: [get('/x')],
      judge: ([answer]) => (answer?.status === 201 ? undefined : 'not made'),
    }),
  };
  expect(await findings(targetOf(await start(() => 'well')), 'free', [judging])).toEqual(['wrong answer']);
});

test.each<[WireRequest, string | undefined]>([
  [get('/x?watch=%'), 'wrong answer'],
  [get('/x%ff'), 'wrong answer'],
  [get('/x?a=%25%C3%A9'), undefined],
  [json('PATCH', '/x?force=true', '{}'), 'wrong answer'],
  [json('PATCH', '/x?a=1&force', '{}'), 'wrong answer'],
  [json('PATCH', '/x?enforce=true', '{}'), undefined],
])('an accepted mistake counts: %j', async (request, rule) => {
  const mistaken: AttackArea = { ...area, generate: () => ({ changes: 'maybe', requests: [request] }) };
  expect(await findings(targetOf(await start(() => 'well')), 'free', [mistaken])).toEqual(
    rule === undefined ? [] : [rule],
  );
});

test('a logged error counts', async () => {
  expect(await findings(targetOf(await start(() => 'well'), { errors: ['{"level":"error"}'] }))).toEqual([
    'server log',
  ]);
});

describe('a blocked event loop', () => {
  const fuzzCase: FuzzCase = { ...area.generate(undefined as never, fixtures), area: 'test' };
  const ran = { number: 7, fuzzCase, began: 0, ended: 1000, bytes: 1 };
  const hold: Hold = { began: 10, ended: 20, cpu: 300 };

  test.each([
    ['that recurs every time is reported', [[hold], [hold], [{ ...hold, cpu: 200 }], [hold]], 200],
    ['that does not recur is ignored', [[hold], [hold], [], [hold]], undefined],
    ['that is short is ignored', [[{ ...hold, cpu: 50 }]], undefined],
    ['while no request ran is ignored', [[{ ...hold, began: 2000, ended: 3000 }]], undefined],
  ])('%s', async (_reason, told: Hold[][], cpu) => {
    const check = new HoldCheck(
      { takeHolds: async () => told.shift() ?? [] } as unknown as FuzzTarget,
      async () => ({ outcomes: [] }),
      100,
    );
    expect((await check.check([ran]))[0]?.cpu).toBe(cpu);
  });

  test('is measured in a separate process, in processor time', async () => {
    const meter = fileURLToPath(new URL('server/hold-meter.mjs', import.meta.url));
    const program =
      'const spin = (ms) => { const start = process.cpuUsage(); for (;;) { const { user, system } = process.cpuUsage(start); if (user + system > ms * 1000) return; } }; setTimeout(() => { spin(200); setTimeout(() => process.exit(), 100); }, 100);';
    const child = spawn(process.execPath, ['--import', meter, '-e', program], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const holds: Hold[] = [];
    child.on('message', (message) => holds.push(message as Hold));
    await once(child, 'close');
    expect(Math.max(...holds.map(({ cpu }) => cpu))).toBeGreaterThan(150);
  });
});

describe('a failing case is reduced', () => {
  test('until nothing can be removed', async () => {
    const target = targetOf(await start(() => 'internal error'));
    const large: AttackArea = {
      ...area,
      generate: () => ({
        changes: 'never',
        requests: [json('POST', '/x?a=b&c=d', 'x'.repeat(50), [['A', 'b']]), get('/y')],
      }),
    };
    const run = new FuzzRun({ target, seed: 's', areas: [large], fixtures, concurrency: 1, slow: false });
    await run.batch('free', 1);
    const [finding] = (await run.finish()).findings.values();
    expect(finding!.replay).toBe(
      String.raw`    "POST /x HTTP/1.1\r\nHost: fuzz\r\nAuthorization: Bearer $TOKEN\r\nContent-Length: 0\r\n\r\n"`,
    );
  });
});

describe('numbers and texts are compared as they are written', () => {
  test.each([
    ['1', '1.0', true],
    ['1', '1e0', true],
    ['9007199254740993', '9007199254740992', false],
    ['9007199254740993', '9.007199254740993e15', true],
    ['9007199254740993.0', '9007199254740992', false],
    ['9.007199254740993e15', '9.007199254740992e+15', false],
    ['9007199254740994.0', '9.007199254740994e+15', true],
    ['1e21', '1e+21', true],
    ['123456789012345678901.0', '1.2345678901234568e+20', true],
    ['0.0', '0', true],
    ['0.1', '0.10', true],
    ['{"a":1,"b":[2]}', '{"b":[2],"a":1}', true],
    ['{"a":1}', '{"a":1,"b":null}', false],
    ['{"__proto__":1}', '{}', false],
    ['[1,2]', '[2,1]', false],
    [String.raw`"\u0041\/"`, '"A/"', true],
    [String.raw`"é"`, String.raw`"e\u0301"`, false],
    ['null', 'false', false],
    ['9.223372036854775808e18', '9.223372036854776e+18', true],
    ['9.223372036854775807e18', '9.223372036854776e+18', false],
  ])('%s and %s: %s', (a, b, same) => {
    expect(exactDifference(parseExact(a), parseExact(b)) === undefined).toBe(same);
  });
});
