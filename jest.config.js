export default {
  testMatch: ['<rootDir>/pkg/**/*.test.ts', '<rootDir>/cmd/**/*.test.ts', '<rootDir>/hack/**/*.test.ts'],
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/hack/jest/esbuild-transform.js' },
  globalSetup: '<rootDir>/hack/jest/global-setup.ts',
  globalTeardown: '<rootDir>/hack/jest/global-teardown.ts',
  // Tests wait for PostgreSQL and sockets more than they compute.
  maxWorkers: 3,
  testTimeout: 30_000,
  coverageProvider: 'v8',
};
