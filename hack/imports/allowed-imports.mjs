/**
 * Which package may import which; `pkg/README.md` draws it. A folder under pkg that is not here is a violation.
 * `import type` counts, too: it makes a package depend on another as any import does.
 */
export const allowedImports = new Map([
  ['apimachinery', []],
  ['database', []],
  ['identity', ['apimachinery']],
  ['apis', ['apimachinery']],
  ['client', ['apimachinery']],
  ['storage', ['apimachinery', 'database']],
  ['http', ['apimachinery', 'identity']],
  ['backup', ['apimachinery', 'database']],
  ['runtime', ['apimachinery', 'apis', 'client']],
  ['apiserver', ['apimachinery', 'apis', 'identity', 'http', 'storage']],
  ['access', ['apimachinery', 'identity', 'http', 'database']],
  ['controllers', ['apimachinery', 'apis', 'client', 'runtime']],
  ['plugin', ['apimachinery', 'apis', 'identity', 'client', 'http', 'runtime']],
  ['index', ['apimachinery', 'client', 'runtime', 'plugin']],
  ['testenv', 'any'],
]);

/** What the tests of a package may import besides: a test on a real database opens one. */
export const allowedInTests = ['testenv', 'database'];

/** Tests, and what only tests use; the product imports neither. */
export const testFiles = String.raw`\.test\.ts$|/[a-z]+test/|/start-test-[^/]*\.ts$|^pkg/testenv/`;

/** A worker loads the bundle of its plugin, which is no file of ours: the only import() of a computed module. */
export const computedImports = ['pkg/plugin/worker/load-bundle.ts'];
