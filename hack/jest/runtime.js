/**
 * Loads modules by Node.js itself. Jest's own runtime links every module anew for every test file, in a context of the
 * file's own, which takes more than most files' tests: here a worker loads a module once, and what it holds is shared
 * by the worker's test files.
 */
import asyncHooks from 'node:async_hooks';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import JestRuntime from 'jest-runtime';
import { setGlobals } from './globals.mjs';

const require = createRequire(import.meta.url);
/** Where jest keeps the state of a test file. */
const stateOfFile = ['EVENT_HANDLERS', 'TEST_TIMEOUT_SYMBOL'].map((name) => Symbol.for(name));
let setups = 0;

/**
 * Holds what jest keeps of the running test. A worker runs one test at a time, so a field is enough. Node.js's own class
 * costs time with every promise, and jest makes one for every test file and leaves it behind: a worker's hundredth file
 * would be several times as slow as its first.
 */
class TestStorage {
  #store;

  getStore() {
    return this.#store;
  }

  run(store, callback, ...parameters) {
    this.#store = store;
    return callback(...parameters);
  }
}

export default class Runtime extends JestRuntime {
  #testPath;

  constructor(...parameters) {
    super(...parameters);
    this.#testPath = parameters[6];
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  async unstable_importModule(path) {
    setGlobals(this.jestGlobals.cjsGlobals(path));
    const url = pathToFileURL(path);
    // What sets a test file up runs again for each.
    if (path !== this.#testPath) url.searchParams.set('setup', String((setups += 1)));
    await import(url.href);
  }

  /** Jest's own, whose state is that of one test file. */
  requireInternalModule(path) {
    for (const symbol of stateOfFile) delete globalThis[symbol];
    delete require.cache[path];
    const { AsyncLocalStorage } = asyncHooks;
    asyncHooks.AsyncLocalStorage = TestStorage;
    try {
      return require(path);
    } finally {
      asyncHooks.AsyncLocalStorage = AsyncLocalStorage;
    }
  }

  /** Node.js's own serves every file of the worker; jest's would load modules of its own. */
  installGetBuiltinModule() {}
}
