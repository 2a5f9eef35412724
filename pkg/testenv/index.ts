/** Real servers on a real database for tests; public, for plugin authors too. */
export * from './cutting-proxy.ts';
export * from './start-test-env.ts';
export * from './test-database.ts';
