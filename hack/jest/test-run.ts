/** What setup leaves for teardown: jest loads each by itself, so they share nothing but the process. */
export type TestRun = typeof globalThis & { stopTestDatabase?: () => Promise<void> };
