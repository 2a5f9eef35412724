/**
 * Who may import whom, all of it; `pkg/README.md` draws it. A folder under pkg that is not here is a violation.
 * `import type` counts: a type that leaks upwards is the arrow that matters.
 */
export const arrows = new Map([
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
  ['testenv', 'anything'],
  ['cmd', 'anything'],
]);

/** What tests may import besides: a test on a real database has to open one. */
export const arrowsOfTests = ['testenv', 'database'];

/** Tests and what only tests use; product code may import neither. */
export function isTestFile(path) {
  return /\.test\.ts$|\/[a-z]+test\/|\/start-test-[^/]*\.ts$/.test(path) || path.startsWith('pkg/testenv/');
}

/** `pkg/http/filters/chain.ts` is in wing http, `pkg/index.ts` in index, `cmd/svc/main.ts` in cmd. */
export function wingOf(path) {
  const [top, wing] = path.split('/');
  return top === 'cmd' ? 'cmd' : wing.replace(/\.ts$/, '');
}
