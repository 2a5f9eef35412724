import { existsSync } from 'node:fs';
import { bundledPackages } from './hack/jest/bundled-packages.mjs';

// Definitions and objects of other projects, to test against; they lie beside the repository and are no part of it.
const hasRealData = existsSync(new URL('../shared/data', import.meta.url));
if (!hasRealData)
  process.stderr.write('WARNING: ../shared/data is not there, so what is tested against it is skipped.\n');

/** Tests that run for minutes, of whole programs that work together: `make whole`, and CI. */
const isWhole = process.env['SVC_TEST_WHOLE'] === '1';

export default {
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(isWhole ? [] : ['\\.whole\\.test\\.ts$']),
    ...(hasRealData ? [] : ['/real-definitions', '/open-api-documents']),
  ],
  testMatch: ['bench', 'cmd', 'hack', 'pkg', 'test'].map((folder) => `<rootDir>/${folder}/**/*.test.ts`),
  testEnvironment: '<rootDir>/hack/jest/environment.js',
  testEnvironmentOptions: {
    customExportConditions: ['source', 'node', 'node-addons'],
    // How long the event loop may be held, where no time limit of jest's can end a test: in processor time, and in all.
    longestHoldSeconds: { processor: 60, all: 300 },
  },
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    // As tsconfig.json has them: what plugins import.
    '^@svc/sdk$': '<rootDir>/pkg/index.ts',
    '^@svc/sdk/testing$': '<rootDir>/pkg/testenv/index.ts',
    '^fast-check$': '<rootDir>/hack/jest/fast-check.ts',
    ...Object.fromEntries([...bundledPackages].map(([name, file]) => [`^${name}$`, file])),
  },
  transform: { '^.+\\.ts$': '<rootDir>/hack/jest/esbuild-transform.js' },
  globalSetup: '<rootDir>/hack/jest/global-setup.ts',
  setupFilesAfterEnv: ['<rootDir>/hack/jest/unit-limit.ts'],
  globalTeardown: '<rootDir>/hack/jest/global-teardown.ts',
  // Tests wait for PostgreSQL and sockets more than they compute.
  maxWorkers: 3,
  // Modules of test files that are done stay in a worker's memory, and cost it time.
  workerIdleMemoryLimit: '1GB',
  // A bound for what hangs, not a measure: a slow machine takes several times as long as a quick one. Tests without I/O
  // have less: hack/jest/unit-limit.ts.
  testTimeout: 120_000,
  coverageProvider: 'v8',
};
