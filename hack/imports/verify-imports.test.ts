import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

const script = fileURLToPath(new URL('../verify-imports.mjs', import.meta.url));
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-imports-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function verify(files: Record<string, string>): Promise<{ code: number; output: string }> {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return new Promise((resolve) => {
    execFile(process.execPath, [script, root], (error, stdout) =>
      resolve({ code: error === null ? 0 : 1, output: stdout }),
    );
  });
}

const planted: { reason: string; files: Record<string, string>; says: RegExp }[] = [
  {
    reason: 'an arrow upwards',
    files: { 'pkg/storage/a.ts': "import { x } from '#pkg/apiserver/index';" },
    says: /a\.ts:1: storage may not import apiserver/,
  },
  {
    reason: 'as a type',
    files: { 'pkg/storage/a.ts': "\nimport type { X } from '#pkg/http/index';" },
    says: /a\.ts:2: storage may not import http/,
  },
  {
    reason: 'inside a type',
    files: { 'pkg/storage/a.ts': "type X = import('#pkg/http/index').X;" },
    says: /storage may not import http/,
  },
  {
    reason: 'later, at run time',
    files: { 'pkg/storage/a.ts': "const x = await import('#pkg/http/index');" },
    says: /storage may not import http/,
  },
  {
    reason: 'by passing on',
    files: { 'pkg/storage/a.ts': "export * from '#pkg/http/index';" },
    says: /storage may not import http/,
  },
  {
    reason: 'for its effect',
    files: { 'pkg/storage/a.ts': "import '#pkg/http/index';" },
    says: /storage may not import http/,
  },
  {
    reason: 'over several lines',
    files: { 'pkg/storage/a.ts': "import {\n  x,\n} from\n  '#pkg/http/index';" },
    says: /storage may not import http/,
  },
  {
    reason: 'inside a template',
    files: { 'pkg/storage/a.ts': "`${await import('#pkg/http/index')} ${{}}`;" },
    says: /storage may not import http/,
  },
  {
    reason: 'behind a regular expression',
    files: { 'pkg/storage/a.ts': "const q = /['\"`]/g;\nimport '#pkg/http/index';" },
    says: /storage may not import http/,
  },
  { reason: 'a computed module', files: { 'pkg/storage/a.ts': 'await import(name);' }, says: /computed/ },
  { reason: 'an unknown wing', files: { 'pkg/helpers/a.ts': '' }, says: /helpers is not in the table/ },
  {
    reason: 'from an unknown wing',
    files: { 'cmd/svc/a.ts': "import '#pkg/helpers/index';" },
    says: /not in the table/,
  },
  { reason: 'past the door', files: { 'cmd/svc/a.ts': "import '#pkg/http/respond';" }, says: /its only door is/ },
  { reason: 'the own door from inside', files: { 'pkg/http/a.ts': "import '#pkg/http/index';" }, says: /own door/ },
  {
    reason: 'out of the wing',
    files: { 'pkg/http/a.ts': "import '../identity/user.ts';", 'pkg/identity/user.ts': '' },
    says: /leaves the wing/,
  },
  {
    reason: 'out of a program',
    files: { 'cmd/svc/a.ts': "import '../other/b.ts';", 'cmd/other/b.ts': '' },
    says: /leaves the wing/,
  },
  {
    reason: 'into cmd',
    files: { 'pkg/http/a.ts': "import '../../cmd/svc/b.ts';", 'cmd/svc/b.ts': '' },
    says: /leaves the wing/,
  },
  {
    reason: 'testenv in the product',
    files: { 'pkg/http/a.ts': "import '../testenv/b.ts';", 'pkg/testenv/b.ts': '' },
    says: /leaves the wing/,
  },
  { reason: 'testenv in a program', files: { 'cmd/svc/a.ts': "import '#pkg/testenv/index';" }, says: /for tests only/ },
  {
    reason: 'a test in the product',
    files: { 'pkg/http/a.ts': "import './start-test-b.ts';", 'pkg/http/start-test-b.ts': '' },
    says: /for tests only/,
  },
  {
    reason: 'a test up the arrows',
    files: { 'pkg/http/a.test.ts': "import '#pkg/apiserver/index';" },
    says: /http may not import apiserver/,
  },
  {
    reason: 'a plugin past the SDK',
    files: { 'config/samples/plugins/a/b.ts': "import '#pkg/http/index';" },
    says: /b\.ts:1: a plugin imports @svc\/sdk and its own files, not #pkg/,
  },
  {
    reason: "a plugin's neighbour",
    files: { 'config/samples/plugins/a/b.ts': "import '../c/d.ts';" },
    says: /not \.\.\/c\/d\.ts/,
  },
  { reason: 'an absolute path', files: { 'pkg/http/a.ts': "import '/etc/x.ts';" }, says: /no way to import/ },
  {
    reason: 'a circle, of types too',
    files: {
      'pkg/http/a.ts': "import './b.ts';",
      'pkg/http/b.ts': "export * from './c.ts';",
      'pkg/http/c.ts': "import type { A } from './a.ts';",
    },
    says: /circle: pkg\/http\/a\.ts -> pkg\/http\/b\.ts -> pkg\/http\/c\.ts -> pkg\/http\/a\.ts\n1 violations/,
  },
];

test.each(planted)('finds: $reason', async ({ files, says }) => {
  const { code, output } = await verify(files);
  expect(output).toMatch(says);
  expect(code).toBe(1);
});

test('what is allowed passes, and words that only look like imports are not read', async () => {
  const { code, output } = await verify({
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
  });
  expect(output).toMatch(/all arrows allowed/);
  expect(code).toBe(0);
});
