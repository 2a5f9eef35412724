/**
 * What tests have as `@jest/globals`. Jest makes new functions for each test file, and a module that several files
 * share imports them once: these call the ones of the file that runs.
 */
const current = Symbol.for('svc.jest.globals');

/** Called before a test file is loaded, with what `@jest/globals` holds for it. */
export function setGlobals(globals) {
  globalThis[current] = globals;
}

export const afterAll = forward('afterAll');
export const afterEach = forward('afterEach');
export const beforeAll = forward('beforeAll');
export const beforeEach = forward('beforeEach');
export const describe = forward('describe');
export const expect = forward('expect');
export const it = forward('it');
export const jest = forward('jest');
export const test = forward('test');

function forward(name) {
  return new Proxy(() => {}, {
    apply: (_target, _self, parameters) => globalThis[current][name](...parameters),
    get: (_target, key) => globalThis[current][name][key],
  });
}
