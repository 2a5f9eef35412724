import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { checkImports } from './check-imports.mjs';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-imports-'));
  const { imports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    imports: unknown;
  };
  writeFileSync(join(root, 'package.json'), JSON.stringify({ type: 'module', imports }));
});
afterEach(() => rmSync(root, { recursive: true }));

async function check(files: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return (await checkImports(root)).violations;
}

/** Entry points of packages that the cases import. */
const entries = Object.fromEntries(
  ['apimachinery', 'apiserver', 'database', 'http', 'storage', 'testenv'].map((name) => [`pkg/${name}/index.ts`, '']),
);

const planted: { reason: string; files: Record<string, string>; says: RegExp }[] = [
  {
    reason: 'a package that may not be imported',
    files: { 'pkg/storage/a.ts': "import { x } from '#pkg/apiserver/index';" },
    says: /pkg\/storage\/a\.ts:1: pkg\/apiserver\/index\.ts: storage may import only apimachinery, audit, database/,
  },
  {
    reason: 'as a type',
    files: { 'pkg/storage/a.ts': "\nimport type { X } from '#pkg/http/index';" },
    says: /a\.ts:2: pkg\/http\/index\.ts: storage may import only/,
  },
  {
    reason: 'inside a type',
    files: { 'pkg/storage/a.ts': "type X = import('#pkg/http/index').X;" },
    says: /a\.ts: an import\(\) inside a type is not checked/,
  },
  {
    reason: 'with import() at run time',
    files: { 'pkg/storage/a.ts': "const x = await import('#pkg/http/index');" },
    says: /storage may import only/,
  },
  {
    reason: 'with export from',
    files: { 'pkg/storage/a.ts': "export * from '#pkg/http/index';" },
    says: /storage may import only/,
  },
  {
    reason: 'for its effect',
    files: { 'pkg/storage/a.ts': "import '#pkg/http/index';" },
    says: /storage may import only/,
  },
  {
    reason: 'inside a template',
    files: { 'pkg/storage/a.ts': "`${await import('#pkg/http/index')} ${{}}`;" },
    says: /storage may import only/,
  },
  { reason: 'a computed module', files: { 'pkg/storage/a.ts': 'await import(name);' }, says: /a\.ts: .* computed/ },
  { reason: 'a computed template', files: { 'pkg/storage/a.ts': 'await import(`./${name}`);' }, says: /computed/ },
  {
    reason: 'a package that is not in the table',
    files: { 'pkg/helpers/a.ts': '' },
    says: /pkg\/helpers: the package is not in/,
  },
  {
    reason: 'a missing module',
    files: { 'cmd/svc/a.ts': "import '#pkg/helpers/index';" },
    says: /no such module/,
  },
  {
    reason: 'past the entry point',
    files: { 'cmd/svc/a.ts': "import '#pkg/http/respond';", 'pkg/http/respond.ts': '' },
    says: /imported by its entry point/,
  },
  {
    reason: 'past the entry point of an allowed package',
    files: { 'pkg/apiserver/a.ts': "import '#pkg/http/respond';", 'pkg/http/respond.ts': '' },
    says: /each by its entry point/,
  },
  {
    reason: 'an entry point by a relative path',
    files: { 'pkg/apiserver/a.ts': "import '../http/index.ts';" },
    says: /imported by its entry point #pkg/,
  },
  {
    reason: 'the same from a program',
    files: { 'cmd/svc/a.ts': "import '../../pkg/http/index.ts';" },
    says: /imported by its entry point #pkg/,
  },
  {
    reason: "a package's own entry point",
    files: { 'pkg/http/a.ts': "import '#pkg/http/index';" },
    says: /its own files directly/,
  },
  {
    reason: "a package's own file by the alias",
    files: { 'pkg/http/a.ts': "import '#pkg/http/b';", 'pkg/http/b.ts': '' },
    says: /its own files directly/,
  },
  {
    reason: 'out of the package',
    files: { 'pkg/http/a.ts': "import '../identity/user.ts';", 'pkg/identity/user.ts': '' },
    says: /http may import only .*each by its entry point/,
  },
  {
    reason: 'another program',
    files: { 'cmd/svc/a.ts': "import '../other/b.ts';", 'cmd/other/b.ts': '' },
    says: /its own files and packages/,
  },
  {
    reason: 'a program in a package',
    files: { 'pkg/http/a.ts': "import '../../cmd/svc/b.ts';", 'cmd/svc/b.ts': '' },
    says: /http may import only/,
  },
  {
    reason: 'a suite in a program',
    files: { 'cmd/svc/a.ts': "import '../../test/system/a/b.ts';", 'test/system/a/b.ts': '' },
    says: /its own files and packages/,
  },
  {
    reason: 'testenv in the product',
    files: { 'pkg/http/a.ts': "import '../testenv/b.ts';", 'pkg/testenv/b.ts': '' },
    says: /for tests only/,
  },
  { reason: 'testenv in a program', files: { 'cmd/svc/a.ts': "import '#pkg/testenv/index';" }, says: /for tests only/ },
  {
    reason: 'a test helper in the product',
    files: { 'pkg/http/a.ts': "import './start-test-b.ts';", 'pkg/http/start-test-b.ts': '' },
    says: /for tests only/,
  },
  {
    reason: 'a folder for tests in the product',
    files: { 'pkg/http/a.ts': "import './pagetest/b.ts';", 'pkg/http/pagetest/b.ts': '' },
    says: /for tests only/,
  },
  {
    reason: 'a package in a test that may not import it',
    files: { 'pkg/http/a.test.ts': "import '#pkg/apiserver/index';" },
    says: /http may import only apimachinery, identity, audit, and in tests/,
  },
  {
    reason: 'another suite',
    files: { 'test/system/a/b.ts': "import '../c/d.ts';", 'test/system/c/d.ts': '' },
    says: /b\.ts:1: test\/system\/c\/d\.ts: a suite imports its own files/,
  },
  {
    reason: 'a suite in the harness',
    files: { 'test/system/harness/b.ts': "import '../c/d.ts';", 'test/system/c/d.ts': '' },
    says: /a suite imports its own files/,
  },
  {
    reason: 'bench in a suite',
    files: { 'test/system/a/b.ts': "import '../../../bench/c.ts';", 'bench/c.ts': '' },
    says: /a suite imports its own files/,
  },
  {
    reason: 'a suite in bench',
    files: { 'bench/a.ts': "import '../test/system/b/c.ts';", 'test/system/b/c.ts': '' },
    says: /bench imports its own files/,
  },
  {
    reason: 'a package in hack',
    files: { 'hack/a.ts': "import '#pkg/http/index';" },
    says: /hack imports nothing but/,
  },
  {
    reason: 'the server in a plugin',
    files: { 'config/samples/plugins/a/b.ts': "import '#pkg/http/index';" },
    says: /b\.ts:1: pkg\/http\/index\.ts: a plugin imports @svc\/sdk and its own files/,
  },
  {
    reason: 'a module of Node in a plugin',
    files: { 'config/samples/plugins/a/b.ts': "import 'node:fs';" },
    says: /a plugin imports @svc\/sdk/,
  },
  {
    reason: "another plugin's files",
    files: { 'config/samples/plugins/a/b.ts': "import '../c/d.ts';", 'config/samples/plugins/c/d.ts': '' },
    says: /a plugin imports @svc\/sdk/,
  },
  {
    reason: 'an absolute path',
    files: { 'pkg/http/a.ts': `import '${fileURLToPath(new URL('allowed-imports.mjs', import.meta.url))}';` },
    says: /leaves the repository/,
  },
  {
    reason: 'a cycle of files, of types too',
    files: {
      'pkg/http/a.ts': "import './b.ts';",
      'pkg/http/b.ts': "export * from './c.ts';",
      'pkg/http/c.ts': "import type { A } from './a.ts';",
    },
    says: /in a cycle: (?:pkg\/http\/[abc]\.ts(?: -> )?){4}$/,
  },
  {
    reason: 'folders that import each other',
    files: {
      'pkg/http/a/one.ts': "import '../b/two.ts';",
      'pkg/http/b/two.ts': '',
      'pkg/http/b/deeper/three.ts': "import '../../a/four.ts';",
      'pkg/http/a/four.ts': '',
    },
    says: /folders .* in a cycle: pkg\/http\/b -> pkg\/http\/a -> pkg\/http\/b\n {2}pkg\/http\/b\/deeper\/three\.ts imports pkg\/http\/a\/four\.ts\n/,
  },
  {
    reason: 'folders that import each other in a cycle of three',
    files: {
      'cmd/svc/a/one.ts': "import '../b/two.ts';",
      'cmd/svc/b/two.ts': '',
      'cmd/svc/b/three.ts': "import '../c/four.ts';",
      'cmd/svc/c/four.ts': '',
      'cmd/svc/c/five.ts': "import '../a/six.ts';",
      'cmd/svc/a/six.ts': '',
    },
    says: /folders .* in a cycle: cmd\/svc\/c -> cmd\/svc\/a -> cmd\/svc\/b -> cmd\/svc\/c\n/,
  },
];

test.each(planted)('finds: $reason', async ({ files, says }) => {
  expect(await check({ ...entries, ...files })).toContainEqual(expect.stringMatching(says));
});

test('allowed imports pass, and words that only look like imports are ignored', async () => {
  const violations = await check({
    ...entries,
    'pkg/http/a.ts': [
      "// import '#pkg/apiserver/index';",
      "/* export * from '#pkg/apiserver/index'; */",
      "import type { B } from './filters/b.ts';",
      "import { x } from '#pkg/apimachinery/index';",
      "import { readFile } from 'node:fs';",
      "const text = \"import '#pkg/apiserver/index'\" + 'from \\'#pkg/storage/index\\'';",
      "const list = Array.from('abc'); const url = import.meta.url; port.import('x'); const half = 4 / 2 / 1;",
      "const page = `import '#pkg/apiserver/index' ${x ? `from '#pkg/storage/index'` : ''}`;",
      'class C { import(name: string) { return name; } }',
    ].join('\n'),
    'pkg/http/filters/b.ts': 'export interface B {}',
    'pkg/http/b.integration.test.ts':
      "import { Database } from '#pkg/database/index';\nimport '../testenv/c.ts';\nimport './start-test-d.ts';",
    'pkg/http/start-test-d.ts': '',
    'pkg/testenv/c.ts': "import '#pkg/apiserver/index';",
    'cmd/svc/main.ts': "import '#pkg/apiserver/index'; import './serve.ts';",
    'cmd/svc/serve.ts': '',
    'cmd/svc/serve.test.ts': "import '../../pkg/testenv/c.ts';",
    // A test may import from the folder above, next to its subject.
    'pkg/http/filters/b.test.ts': "import '../answer/e.ts';",
    'pkg/http/answer/e.ts': "import '../filters/b.ts';",
    'test/system/a/b.ts':
      "import '../harness/c.ts'; import '../../../cmd/svc/serve.ts'; import '../../../pkg/http/filters/b.ts'; import '#pkg/http/index';",
    'test/system/harness/c.ts': '',
    'bench/a.ts': "import '../test/system/harness/c.ts'; import '../pkg/http/filters/b.ts';",
    'hack/a.ts': "import '../pkg/testenv/c.ts';",
    'config/samples/plugins/blog/index.ts': "import { definePlugin } from '@svc/sdk'; import './models.ts';",
    'config/samples/plugins/blog/models.ts': '',
    'pkg/http/lazy.ts': "export const lazy = (): Promise<typeof import('./a.ts')> => import('./a.ts');",
  });
  expect(violations).toEqual([]);
});
