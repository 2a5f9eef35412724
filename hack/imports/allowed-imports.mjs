/**
 * Which package may import which; `pkg/README.md` shows it as a picture. A folder of pkg that is missing here is a
 * violation. `import type` counts too, because it is a dependency like any import.
 */
export const allowedImports = new Map([
  ['apimachinery', []],
  ['database', []],
  ['identity', ['apimachinery']],
  ['apis', ['apimachinery']],
  ['managedfields', ['apimachinery']],
  ['client', ['apimachinery']],
  ['webclient', ['apimachinery']],
  ['audit', ['apimachinery', 'identity']],
  ['storage', ['apimachinery', 'audit', 'database']],
  ['http', ['apimachinery', 'identity', 'audit']],
  ['backup', ['apimachinery', 'database']],
  ['runtime', ['apimachinery', 'apis', 'client']],
  ['apiserver', ['apimachinery', 'apis', 'managedfields', 'identity', 'audit', 'http', 'storage']],
  ['access', ['apimachinery', 'identity', 'audit', 'http', 'database']],
  ['controllers', ['apimachinery', 'apis', 'identity', 'client', 'runtime']],
  ['plugin', ['apimachinery', 'apis', 'identity', 'client', 'http', 'runtime']],
  ['index', ['apimachinery', 'client', 'runtime', 'plugin']],
  ['testenv', 'any'],
]);

/** Further packages that tests may import: a test on a real database opens one. */
export const allowedInTests = ['testenv', 'database'];

/** Tests and code for tests only; the product imports neither. */
export const testFiles = String.raw`\.test\.ts$|/[a-z]+test/|/start-test-[^/]*\.ts$|^pkg/testenv/`;

/** A worker imports the bundle of its plugin, which is not a source file: the only import() with a computed path. */
export const computedImports = ['pkg/plugin/worker/thread/load-bundle.ts'];
