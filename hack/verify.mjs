/**
 * Runs all checks that are not tests: `npm run verify`. The steps of one row run one by one, the rows in parallel; a
 * row ends at its first failing step. `--summary=<file>` writes how many steps passed and failed, for CI; `--built` uses
 * the build that is there, which others may be running; `--whole` executes the documentation in every way.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const node = process.execPath;
const compiler = 'node_modules/typescript/bin/tsc';
const { values: options } = parseArgs({
  options: { summary: { type: 'string' }, built: { type: 'boolean' }, whole: { type: 'boolean' } },
});
const build = [
  { name: 'build', command: [node, compiler, '-p', 'tsconfig.build.json'] },
  { name: 'bundle', command: [node, 'hack/builds/bundle.mjs'] },
  { name: 'console', command: [node, 'hack/builds/build-console.mjs'] },
  { name: 'build info', command: [node, 'hack/builds/build-info.mjs'] },
];
const rows = [
  [
    { name: 'typecheck', command: [node, compiler, '-p', 'tsconfig.json'] },
    { name: 'typecheck of the console', command: [node, compiler, '-p', 'console/tsconfig.json'] },
    { name: 'lint', command: [node, 'node_modules/oxlint/bin/oxlint', '--type-aware'] },
    { name: 'imports', command: [node, 'hack/verify-imports.mjs'] },
    { name: 'lock file', command: [node, 'hack/check-lock.mjs'] },
    { name: 'links', command: [node, 'hack/verify-links.mjs'] },
    {
      name: 'format',
      command: [node, 'node_modules/prettier/bin/prettier.cjs', '--check', '--cache', '--log-level=warn', '.'],
    },
  ],
  [
    ...(options.built ? [] : build),
    { name: 'documentation', command: [node, 'hack/verify-docs.mjs', ...(options.whole ? ['--whole'] : [])] },
  ],
];

const summary = { passed: 0, failed: 0, failures: [] };
await Promise.all(rows.map(runRow));
process.exitCode = summary.failed === 0 ? 0 : 1;
if (options.summary !== undefined) writeFileSync(options.summary, JSON.stringify(summary));

async function runRow(steps) {
  for (const { name, command } of steps) {
    const { code, output } = await run(command);
    process.stdout.write(`== ${name}${code === 0 ? '' : ' failed'}\n${output}`);
    if (code !== 0) {
      summary.failed += 1;
      summary.failures.push(`npm run verify: ${name}`);
      return;
    }
    summary.passed += 1;
  }
}

/** Prints a step's output at once, because another row prints meanwhile. */
function run([program, ...args]) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}
