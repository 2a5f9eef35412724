/** State from setup for teardown: jest loads each separately, so they share only the process. */
export type TestRun = typeof globalThis & { stopTestDatabase?: () => Promise<void> };
