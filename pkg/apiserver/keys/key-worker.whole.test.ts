import { execFileSync, spawn } from 'node:child_process';
import { setTimeout as after } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { ComputedResult } from '#pkg/apimachinery/index';
import { KeyWorker } from './key-worker.ts';

const worker = new KeyWorker();
/** For tests that must run to their end, also on a slow machine. */
const patientWorker = new KeyWorker({ objectMs: 5000, batchMs: 20_000 });
afterAll(() => Promise.all([worker.stop(), patientWorker.stop()]));

let scripts = 0;

/** The result of `source` for one object, alone in its script. */
async function resultOf(
  source: string,
  { object = {}, multi = false, by = worker }: { object?: unknown; multi?: boolean; by?: KeyWorker } = {},
): Promise<ComputedResult> {
  scripts += 1;
  const [row] = await by.evaluate(
    { hash: `s${scripts}`, text: `var indexKeys = { f: ${source} };` },
    [{ function: 'f', multi }],
    [JSON.stringify(object)],
  );
  return row![0]!;
}

/** It needs more steps than can ever run, inside a built-in function that no timeout interrupts. */
const hang = '() => String(Array.prototype.indexOf.call({ length: 2 ** 52 }, 1))';
let marks = 60_000;

/** A limit that identifies this test's processes: no other test uses it. */
function newMark(): number {
  marks += 1;
  return marks * 1000 + (process.pid % 1000);
}

function processesOf(mark: number): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines
    .filter((line) => /key-process-main/.test(line) && line.trimEnd().endsWith(` ${mark}`))
    .map((line) => Number.parseInt(line, 10));
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await after(50);
}

describe('values', () => {
  const rows: [source: string, values: unknown[], multi?: boolean][] = [
    ['(o) => o.spec.title.length', [5]],
    ['() => null', []],
    ['() => {}', []],
    ["() => 'x\\n\\u2028\\ud83d\\ude00'", ['x\n\u2028\u{1f600}']],
    ["() => new Date('2020-01-02')", ['2020-01-02T00:00:00.000Z']],
    ['() => false', [false]],
    ["() => ['a', null, 'b', 'a']", ['a', 'b', 'a'], true],
    ["() => new Set(['a', 'b'])", ['a', 'b'], true],
    ['() => null', [], true],
    ['() => (class extends Date {}).name + (new Date(0) instanceof Date)', ['true']],
    ['() => Date.UTC(2020, 0)', [Date.UTC(2020, 0)]],
    ['() => new Date(2020, 0).getTime() - Date.UTC(2020, 0)', [0]],
    ["() => 'the import of goods, $import(), reimport.'", ['the import of goods, $import(), reimport.']],
    // Results do not depend on what lists and objects inherit.
    ["() => { Object.prototype.toJSON = () => ({ v: 5 }); return 'a'; }", ['a']],
    [
      "() => { Array.prototype.toJSON = () => null; Array.prototype[Symbol.iterator] = () => ({ next: () => ({ done: true }) }); return 'a'; }",
      ['a'],
    ],
    ["() => { Object.defineProperty(Array.prototype, 0, { set() {} }); return ['a', 'b']; }", ['a', 'b'], true],
    [
      "() => { try { globalThis['svc:run'] = () => 7; delete globalThis['svc:run']; Object.defineProperty(globalThis, 'svc:run', { value: () => 7 }); } catch {} return 'a'; }",
      ['a'],
    ],
    // A stack overflow while a stack is created would throw errors from outside the scope, with another
    // Object.prototype.
    [
      `() => {
        let strangers = 0;
        const see = (error) => { try { let each = error; while (Object.getPrototypeOf(each) !== null) each = Object.getPrototypeOf(each); if (each !== Object.prototype) strangers += 1; } catch {} };
        const deep = () => { try { deep(); } catch (error) { see(error); try { new Error('x').stack; } catch (other) { see(other); } throw error; } };
        try { deep(); } catch (error) { see(error); }
        return strangers;
      }`,
      [0],
    ],
  ];
  test.each(rows)('%s', async (source, values, multi = false) => {
    expect(await resultOf(source, { object: { spec: { title: 'hello' } }, multi, by: patientWorker })).toEqual({
      values,
    });
  });
});

describe('faults', () => {
  const rows: [reason: string, source: string, fault: RegExp, multi?: boolean][] = [
    ['a throw', "() => { throw new RangeError('far'); }", /^f threw RangeError: far$/],
    ['a thrown value that is not an error', '() => { throw 7; }', /^f threw 7$/],
    [
      'a thrown object with a throwing getter',
      '() => { throw new Proxy({}, { get() { for (;;); }, getPrototypeOf() { for (;;); } }); }',
      /longer than/,
    ],
    ['no number', '() => NaN', /gave NaN/],
    ['an object', '() => ({})', /gave an object as a value/],
    ['a promise', 'async () => 1', /gave an object as a value/],
    ['a list for a single-value index', "() => ['a']", /gave a list as a value/],
    ['a single value for a multi-value index', "() => 'a'", /gave no list/, true],
    ['a bigint', '() => 1n', /gave a bigint/],
    ['no date', "() => new Date('x')", /invalid Date/],
    ['the time', '() => Date.now()', /Date.now is not a function/],
    ['the time', '() => new Date()', /no clock/],
    ['the time', '() => Date()', /no clock/],
    ['the time of the built-in constructor', '() => new (new Date(0)).constructor()', /no clock/],
    ['chance', '() => Math.random()', /random is not a function/],
    ['Node', '() => process.pid', /process is not defined/],
    ['Node', "() => require('fs')", /require is not defined/],
    ['timers', '() => setTimeout(() => 0)', /setTimeout is not defined/],
    ['the network', "() => fetch('http://localhost')", /fetch is not defined/],
    ['memory outside of the heap limit', '() => new Uint8Array(1)', /Uint8Array is not defined/],
    ['code from a string', "() => eval('1')", /disallowed/],
    ['code from a string', "() => [].constructor.constructor('return process')()", /disallowed/],
    [
      'an import',
      "() => { import('fs').catch((error) => error.constructor.constructor('return process')()); return 'a'; }",
      /can import nothing/,
    ],
    ['endless recursion', '() => { const f = () => f(); return f(); }', /call stack/],
    ['a loop', '() => { for (;;); }', /ran longer than 5\d ms/],
    ['a loop after the answer', '() => { Promise.resolve().then(() => { for (;;); }); return 1; }', /ran longer than/],
    ['a regular expression that takes very long', "() => /^(a+)+$/.test('a'.repeat(50) + 'b')", /ran longer than/],
    [
      'memory in small steps',
      '() => { const all = []; for (;;) all.push(new Array(1000).fill({})); }',
      /ran longer than|ran out of memory/,
    ],
  ];
  test.each(rows)('%s: %s', async (_reason, source, fault, multi = false) => {
    expect(await resultOf(source, { multi })).toEqual({ fault: expect.stringMatching(fault) });
    expect(await resultOf('(o) => o.x', { object: { x: 1 } })).toEqual({ values: [1] });
  });

  // On a slow machine the default time would end before memory runs out.
  test('a function that allocates much memory in one step', async () => {
    expect(await resultOf("() => 'x'.repeat(2 ** 28).split('').length", { by: patientWorker })).toEqual({
      fault: expect.stringMatching(/ran out of memory/),
    });
    expect(await resultOf('(o) => o.x', { object: { x: 1 }, by: patientWorker })).toEqual({ values: [1] });
  });
});

test('a changed globalThis does not affect other functions', async () => {
  const text =
    "globalThis.globalThis = { 'svc:run': () => ({ toString: () => 'hello' }) }; var indexKeys = { f: () => 'a' };";
  expect(await worker.evaluate({ hash: 'other', text }, [{ function: 'f', multi: false }], ['{}'])).toEqual([
    [{ values: ['a'] }],
  ]);
});

test('changes that a function makes to its copy of an object are not visible to others', async () => {
  const text = 'var indexKeys = { a: (o) => { const x = o.list.pop(); return x; }, b: (o) => o.list.length };';
  const rows = await worker.evaluate(
    { hash: 'copies', text },
    [
      { function: 'a', multi: false },
      { function: 'b', multi: false },
    ],
    ['{"list":[1,2]}', '{"list":[1,2]}'],
  );
  expect(rows).toEqual([
    [{ values: [2] }, { values: [2] }],
    [{ values: [2] }, { values: [2] }],
  ]);
});

test('other objects get their keys if a function loops or uses up the memory', async () => {
  const text =
    "var indexKeys = { f: (o) => { if (o.loop) for (;;); if (o.eat) 'x'.repeat(2 ** 28).split(''); return o.i; } };";
  const objects = Array.from({ length: 40 }, (_, i) => ({ i, loop: i % 19 === 7, eat: i === 30 }));
  const of = (hash: string) =>
    objects.map((object) =>
      worker.evaluate({ hash, text }, [{ function: 'f', multi: false }], [JSON.stringify(object)]),
    );
  const [one, two] = await Promise.all([Promise.all(of('one')), Promise.all(of('two'))]);
  for (const rows of [one, two]) {
    // On a slow machine the time of the allocating function may end before memory runs out.
    expect(rows.map((row) => row[0]![0])).toEqual(
      objects.map(({ i, loop, eat }) =>
        loop || eat
          ? { fault: expect.stringMatching(loop ? /longer than/ : /ran out of memory|could not be interrupted/) }
          : { values: [i] },
      ),
    );
  }
});

test('many scripts run, and evicted ones are loaded again', async () => {
  const of = (i: number) =>
    worker.evaluate(
      { hash: `many${i}`, text: `var indexKeys = { f: () => ${i} };` },
      [{ function: 'f', multi: false }],
      ['{}'],
    );
  for (const round of [0, 1]) {
    const rows = await Promise.all(Array.from({ length: 60 }, (_, i) => of(i)));
    expect([round, rows.map((row) => row[0]![0])]).toEqual([
      round,
      Array.from({ length: 60 }, (_, i) => ({ values: [i] })),
    ]);
  }
});

describe('a script is refused', () => {
  const rows: [reason: string, text: string, problem: { function?: string; message: unknown }][] = [
    ['that is none', 'var x = (', { message: expect.stringMatching(/Unexpected/) }],
    ['that needs Node', 'process.exit()', { message: 'ReferenceError: process is not defined' }],
    ['that does not end', 'for (;;);', { message: 'it takes too long' }],
    [
      'that throws an object with a throwing getter',
      'throw new Proxy({}, { get() { for (;;); }, getPrototypeOf() { for (;;); } })',
      { message: 'it takes too long' },
    ],
    [
      'without the function',
      'var indexKeys = { g: 1, f: 2 };',
      { function: 'f', message: 'the text exports no function f' },
    ],
    ['that defines nothing', '', { function: 'f', message: 'the text exports no function f' }],
    ...[
      'import("x")',
      'import\n("x")',
      'import/**/("x")',
      'import//\n("x")',
      'import<!--\n("x")',
      'import\n-->\n("x")',
      '[...import("x")]',
      '`${import("x")}`',
      'import.source("x")',
      'import\ufeff("x")',
    ].map((text): [string, string, { message: unknown }] => [
      'that imports',
      text,
      { message: expect.stringMatching(/can import nothing/) },
    ]),
    [
      'that changes the prototype of arrays',
      'Object.prototype.toJSON = Array.prototype.toJSON = () => null',
      { function: 'f', message: 'the text exports no function f' },
    ],
    [
      'that uses up the memory',
      "var indexKeys = 'x'.repeat(2 ** 28).split('')",
      { message: 'the process that tried it ran out of memory' },
    ],
  ];
  test.each(rows)('%s: %s', async (_reason, text, problem) => {
    expect(await worker.check(text, ['f'])).toEqual([problem]);
  });

  test('the output of esbuild is accepted', async () => {
    const text =
      '"use strict"; var indexKeys = (() => { var a = {}; Object.defineProperty(a, "f", { get: () => f, enumerable: true }); function f(o) { return 1; } return a; })();\n// end';
    expect(await worker.check(text, ['f'])).toEqual([]);
  });
});

test('an unhandled rejection does not end the process', async () => {
  const count = () =>
    worker.evaluate(
      { hash: 'count', text: 'let n = 0; var indexKeys = { f: () => (n += 1) };' },
      [{ function: 'f', multi: false }],
      ['{}'],
    );
  expect(await count()).toEqual([[{ values: [1] }]]);
  for (let i = 2; i < 10; i += 1) {
    expect(await resultOf('() => { Promise.reject(new Error()); (async () => { throw 7; })(); return 1; }')).toEqual({
      values: [1],
    });
    // The same process, which has kept its count.
    expect(await count()).toEqual([[{ values: [i] }]]);
  }
});

test('a script that cannot be interrupted gets an error while others get keys, and is blocked after several times', async () => {
  // Time for the other process to start before the hanging one is killed.
  const own = new KeyWorker({ hangMs: 2000 });
  const hanging = () =>
    own.evaluate({ hash: 'hang', text: `var indexKeys = { f: ${hang} };` }, [{ function: 'f', multi: false }], ['{}']);
  const fault = [[{ fault: 'the process that runs its functions could not be interrupted' }]];
  const order: string[] = [];
  const first = hanging().finally(() => order.push('hanging'));
  expect(await resultOf('() => 1', { by: own }).finally(() => order.push('other'))).toEqual({ values: [1] });
  expect(await first).toEqual(fault);
  expect(order).toEqual(['other', 'hanging']);
  expect(await hanging()).toEqual(fault);
  await expect(hanging()).rejects.toMatchObject({ code: 'KeysUnavailable' });
  expect(await resultOf('() => 1', { by: own })).toEqual({ values: [1] });
  expect(await own.check(`var indexKeys = { f: (${hang})() };`, ['f'])).toEqual([
    { message: 'the process that tried it could not be interrupted' },
  ]);
  await own.stop();
});

test('no script is blamed if the process is ended from outside', async () => {
  const mark = newMark();
  const own = new KeyWorker({ objectMs: 60_000, hangMs: mark });
  const killing = setInterval(() => processesOf(mark).forEach((pid) => process.kill(pid, 'SIGKILL')), 1000);
  const looping = resultOf('() => { for (;;); }', { by: own }).catch((error: unknown) => error);
  expect(await looping).toMatchObject({ code: 'KeysUnavailable' });
  clearInterval(killing);
  await own.stop();
});

test('a process ends when its parent is gone, whatever it is doing', async () => {
  const mark = newMark();
  const source = `import { KeyWorker } from ${JSON.stringify(new URL('key-worker.ts', import.meta.url).href)};
    await new KeyWorker({ hangMs: ${mark} }).evaluate({ hash: 'h', text: ${JSON.stringify(`var indexKeys = { f: ${hang} };`)} }, [{ function: 'f', multi: false }], ['{}']);`;
  const parent = spawn(
    process.execPath,
    ['--conditions=source', '--import', 'tsx', '--input-type=module', '-e', source],
    { stdio: 'ignore' },
  );
  await until(() => processesOf(mark).length === 1);
  parent.kill('SIGKILL');
  await until(() => processesOf(mark).length === 0);
});

test('no script is blamed if the process cannot be started', async () => {
  for (const execPath of ['/dev/null/node', '/nowhere/node']) {
    const own = new KeyWorker({ execPath });
    await expect(resultOf('() => 1', { by: own })).rejects.toMatchObject({
      code: 'KeysUnavailable',
      message: 'the process that computes keys could not be begun',
    });
    await expect(own.check('', [])).rejects.toMatchObject({ code: 'KeysUnavailable' });
    // Not retried for each write.
    await expect(resultOf('() => 1', { by: own })).rejects.toMatchObject({
      code: 'KeysUnavailable',
      message: 'the process that computes keys could not be begun just now',
    });
    await own.stop();
  }
});

test('a stopped worker answers no request and leaves no process', async () => {
  const own = new KeyWorker();
  const hanging = resultOf('() => { for (;;); }', { by: own }).catch((error: unknown) => error);
  await resultOf('() => 1');
  await own.stop();
  expect(await hanging).toMatchObject({ code: 'KeysUnavailable' });
  await expect(resultOf('() => 1', { by: own })).rejects.toMatchObject({ code: 'KeysUnavailable' });
  await own.stop();
});
