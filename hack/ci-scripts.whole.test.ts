import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-ci-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(script: string, ...files: string[]): Promise<{ code: number; output: string }> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return new Promise((resolve) => {
    execFile(process.execPath, [path, ...files], (error, stdout) =>
      resolve({ code: error === null ? 0 : 1, output: stdout }),
    );
  });
}

function write(name: string, content: unknown): string {
  const file = join(folder, name);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

describe('a lock file', () => {
  const parent = { integrity: 'x', optionalDependencies: { '@p/linux': '1', '@p/darwin': '1' } };
  const platform = { integrity: 'x', optional: true };
  const cases: { reason: string; packages: Record<string, object>; says: RegExp; code: number }[] = [
    {
      reason: 'with every platform',
      packages: {
        '': {},
        'node_modules/p': parent,
        'node_modules/@p/linux': platform,
        'node_modules/@p/darwin': platform,
      },
      says: /^4 packages/,
      code: 0,
    },
    {
      reason: 'with platforms of a nested package',
      packages: {
        '': {},
        'node_modules/a/node_modules/p': parent,
        'node_modules/a/node_modules/@p/linux': platform,
        'node_modules/a/node_modules/p/node_modules/@p/darwin': platform,
      },
      says: /^4 packages/,
      code: 0,
    },
    {
      reason: 'without one of them',
      packages: { '': {}, 'node_modules/p': parent, 'node_modules/@p/linux': platform },
      says: /^node_modules\/p lacks its optional @p\/darwin\n1 problems/,
      code: 1,
    },
    {
      reason: 'with one where it is not found',
      packages: {
        'node_modules/p': parent,
        'node_modules/@p/linux': platform,
        'node_modules/b/node_modules/@p/darwin': platform,
      },
      says: /lacks its optional @p\/darwin/,
      code: 1,
    },
    {
      reason: 'tied to a host',
      packages: { 'node_modules/a': { integrity: 'x', resolved: 'https://registry.example/a.tgz' } },
      says: /tied to the host/,
      code: 1,
    },
    {
      reason: 'with an install script that is denied',
      packages: { 'node_modules/jest/node_modules/esbuild': { integrity: 'x', hasInstallScript: true } },
      says: /^1 packages/,
      code: 0,
    },
    {
      reason: 'with an install script that is not allowed',
      packages: { 'node_modules/@a/b': { integrity: 'x', hasInstallScript: true } },
      says: /^node_modules\/@a\/b has an install script .*\n1 problems/,
      code: 1,
    },
    { reason: 'without a hash', packages: { 'node_modules/a': {} }, says: /has no integrity/, code: 1 },
  ];
  test.each(cases)('$reason', async ({ packages, says, code }) => {
    const ran = await run('check-lock.mjs', write('lock.json', { packages }));
    expect(ran.output).toMatch(says);
    expect(ran.code).toBe(code);
  });
});

describe('the summary of CI', () => {
  const verify = { passed: 6, failed: 0 };
  const jest = { numPassedTests: 10, numFailedTests: 0, numRuntimeErrorTestSuites: 0, success: true };
  const testResults = [
    {
      name: '/x/a.test.ts',
      message: 'all of it',
      assertionResults: [
        { status: 'passed', fullName: 'holds' },
        { status: 'failed', fullName: 'a b', failureMessages: ['\u001B[31mexpected 1\u001B[39m\ngot 2'] },
        { status: 'failed', fullName: 'c' },
      ],
    },
  ];
  const cases: { reason: string; verify: unknown; jest: unknown; says: string; code: number }[] = [
    { reason: 'all well', verify, jest, says: '16 passed, 0 failed\n', code: 0 },
    {
      reason: 'a step failed',
      verify: { passed: 2, failed: 1, failures: ['npm run verify: lint'] },
      jest,
      says: 'FAILED npm run verify: lint\n12 passed, 1 failed\n',
      code: 1,
    },
    {
      reason: 'tests failed',
      verify,
      jest: { ...jest, numFailedTests: 2, success: false, testResults },
      says: 'FAILED a.test.ts: a b\n  expected 1\n  got 2\nFAILED a.test.ts: c\n16 passed, 2 failed\n',
      code: 1,
    },
    {
      reason: 'a suite could not be loaded',
      verify,
      jest: {
        ...jest,
        numRuntimeErrorTestSuites: 1,
        success: false,
        testResults: [{ name: '/x/b.test.ts', message: 'no such file' }],
      },
      says: 'FAILED b.test.ts\n  no such file\n16 passed, 1 failed\n',
      code: 1,
    },
    {
      reason: 'jest failed otherwise',
      verify,
      jest: { ...jest, success: false },
      says: 'FAILED jest: 1\n16 passed, 1 failed\n',
      code: 1,
    },
    {
      reason: 'a broken report',
      verify,
      jest: '{',
      says: 'FAILED jest: no report was written\n6 passed, 1 failed\n',
      code: 1,
    },
    {
      reason: 'a run with a violation',
      verify: { passed: 21, failed: 1 },
      jest,
      says: 'FAILED verify: 1\n31 passed, 1 failed\n',
      code: 1,
    },
    {
      reason: 'a report of something else',
      verify: {},
      jest,
      says: 'FAILED verify: no report was written\n10 passed, 1 failed\n',
      code: 1,
    },
  ];
  test.each(cases)('$reason', async (each) => {
    const ran = await run('print-summary.mjs', write('verify.json', each.verify), write('jest.json', each.jest));
    expect(ran).toEqual({ code: each.code, output: each.says });
  });

  test('no report at all is a failure', async () => {
    expect(await run('print-summary.mjs')).toEqual({ code: 1, output: '0 passed, 0 failed\n' });
  });

  test('a missing report', async () => {
    expect(await run('print-summary.mjs', join(folder, 'absent'), write('jest.json', jest))).toEqual({
      code: 1,
      output: 'FAILED absent: no report was written\n10 passed, 1 failed\n',
    });
  });
});

test('an unknown suite is reported before any runs', async () => {
  const path = fileURLToPath(new URL('run-suites.mjs', import.meta.url));
  const ended = new Promise((resolve) =>
    execFile(process.execPath, [path, '--only=verify,nonsense'], (error, _, stderr) => resolve([error?.code, stderr])),
  );
  expect(await ended).toEqual([2, expect.stringMatching(/^There is no suite nonsense; there are build, image, /)]);
});
