import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

const script = fileURLToPath(new URL('../verify-links.mjs', import.meta.url));
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-links-'));
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
    reason: 'a missing page',
    files: { 'README.md': '\n[it](docs/gone.md)' },
    says: /README\.md:2: docs\/gone\.md leads to no file/,
  },
  {
    reason: 'a missing heading',
    files: { 'README.md': '[it](docs/a.md#two)', 'docs/a.md': '# One\n' },
    says: /README\.md:1: docs\/a\.md#two leads to no heading/,
  },
  {
    reason: 'a heading of the page itself',
    files: { 'docs/a.md': '# One\n\n[it](#two)' },
    says: /docs\/a\.md:3: #two leads to no heading/,
  },
  {
    reason: 'a heading that is a comment in a block',
    files: { 'docs/a.md': '[it](#one)\n\n```sh\n# one\n```\n' },
    says: /#one leads to no heading/,
  },
  {
    reason: 'a link relative to the wrong folder',
    files: { 'docs/a.md': '[it](docs/b.md)', 'docs/b.md': '' },
    says: /docs\/a\.md:1: docs\/b\.md leads to no file/,
  },
  {
    reason: 'a link by reference',
    files: { 'docs/a.md': '[it][b]\n\n[b]: b.md\n' },
    says: /docs\/a\.md:3: b\.md leads to no file/,
  },
  {
    reason: 'a path of a source',
    files: { 'docs/a.md': 'See `pkg/gone.ts`.' },
    says: /docs\/a\.md:1: there is no pkg\/gone\.ts/,
  },
  {
    reason: 'any path in a page for contributors',
    files: { 'docs/contributing/a.md': 'See `deploy/gone.yaml`.' },
    says: /docs\/contributing\/a\.md:1: there is no deploy\/gone\.yaml/,
  },
  {
    reason: 'a page that a comment names',
    files: { 'pkg/a.ts': '/** See docs/gone.md. */' },
    says: /pkg\/a\.ts:1: docs\/gone\.md leads to no file/,
  },
  {
    reason: 'the section that an alert leads to',
    files: { 'deploy/alerts.yaml': 'url: docs/a.md#two', 'docs/a.md': '# One\n' },
    says: /deploy\/alerts\.yaml:1: docs\/a\.md#two leads to no heading/,
  },
];

test.each(planted)('$reason is found', async ({ files, says }) => {
  const { code, output } = await verify(files);
  expect(output).toMatch(says);
  expect(code).toBe(1);
});

test('links that resolve are accepted', async () => {
  const { code, output } = await verify({
    'README.md':
      '[a](docs/a.md#what-svcx-is-2023) [b](https://example.com/x.md) `[c](gone.md)`\n\n```md\n[d](gone.md)\n```\n',
    'docs/a.md':
      '# What `svc.x` is (2023)\n\n## Again\n\n## Again\n\n[a](#again-1), [code](../pkg/a.ts), `deploy/secrets`\n',
    'docs/contributing/b.md': '`pkg/a.ts`, `pkg/<package>/index.ts`, `pkg/{a,b}`, `make all`, [a](../a.md)\n',
    'pkg/a.ts': '// docs/a.md\n',
  });
  expect(output).toMatch(/3 pages, \d+ links and paths, all resolve/);
  expect(code).toBe(0);
});
