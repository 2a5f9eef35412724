import { TestEnvironment } from 'jest-environment-node';

const lookMs = 500;

// A worker whose parent was killed hears nothing of it, and would go on for as long as its tests do. This module is outside of jest's sandbox, where `process` is the real one.
if (process.send !== undefined) {
  const parent = process.ppid;
  setInterval(() => process.ppid === parent || process.exit(1), lookMs).unref();
}

export default TestEnvironment;
