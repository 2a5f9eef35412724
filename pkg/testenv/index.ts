/** Real servers on a real database for tests, and clients with faults; public, for plugin authors too. */
export * from './cutting-proxy.ts';
export * from './faults/crash-error.ts';
export * from './faults/blindable-client.ts';
export * from './faults/faulty-client.ts';
export * from './faults/run-controllers-under-faults.ts';
export * from './faults/seeded-random.ts';
export * from './plugin/start-plugin-test.ts';
export * from './post-model.ts';
export * from './register-plugin-models.ts';
export * from './start-test-env.ts';
export * from './test-database.ts';
export * from './test-postgres.ts';
