import { existsSync } from 'node:fs';

// Definitions and objects of other projects, to test against; they lie beside the repository and are no part of it.
const hasRealData = existsSync(new URL('../shared/data', import.meta.url));
if (!hasRealData)
  process.stderr.write('WARNING: ../shared/data is not there, so what is tested against it is skipped.\n');

/** Tests that run for minutes, of whole programs that work together: `make whole`, and CI. */
const isWhole = process.env['SVC_TEST_WHOLE'] === '1';

const folders = ['bench', 'cmd', 'hack', 'pkg', 'test'].map((folder) => `<rootDir>/${folder}`);

export default {
  // Elsewhere are no tests, and a fresh clone would list all packages of npm.
  roots: folders,
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(isWhole ? [] : ['\\.whole\\.test\\.ts$']),
    ...(hasRealData ? [] : ['/real-definitions', '/open-api-documents']),
  ],
  testMatch: folders.map((folder) => `${folder}/**/*.test.ts`),
  testSequencer: '<rootDir>/hack/jest/sequencer.js',
  runtime: '<rootDir>/hack/jest/runtime.js',
  testEnvironment: '<rootDir>/hack/jest/environment.js',
  testEnvironmentOptions: {
    // How long the event loop may be held, where no time limit of jest's can end a test: in processor time, and in all.
    longestHoldSeconds: { processor: 60, all: 300 },
  },
  transform: {},
  globalSetup: '<rootDir>/hack/jest/global-setup.mts',
  setupFilesAfterEnv: ['<rootDir>/hack/jest/unit-limit.ts'],
  globalTeardown: '<rootDir>/hack/jest/global-teardown.mts',
  // Tests wait for PostgreSQL and sockets more than they compute; whole programs compute, too.
  maxWorkers: isWhole ? 5 : 7,
  // Modules of test files that are done stay in a worker's memory, and cost it time.
  workerIdleMemoryLimit: '1GB',
  // A bound for what hangs, not a measure: a slow machine takes several times as long as a quick one. Tests without I/O
  // have less: hack/jest/unit-limit.ts.
  testTimeout: isWhole ? 600_000 : 120_000,
  // Node.js frees what a worker holds; on a busy machine that takes seconds.
  workerGracefulExitTimeout: 30_000,
  coverageProvider: 'v8',
};
