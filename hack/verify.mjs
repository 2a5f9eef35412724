/**
 * Everything that can be checked without a test: `npm run verify`. Stops at the first step that fails.
 * `--summary=<file>` writes how many steps passed and failed, for CI.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const node = process.execPath;
const steps = [
  { name: 'typecheck', command: [node, 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'] },
  { name: 'lint', command: [node, 'node_modules/oxlint/bin/oxlint', '--type-aware'] },
  { name: 'imports', command: [node, 'hack/verify-imports.mjs'] },
  { name: 'lock file', command: [node, 'hack/check-lock.mjs'] },
  { name: 'links', command: [node, 'hack/verify-links.mjs'] },
  { name: 'build', command: ['npm', 'run', '--silent', 'build'] },
  { name: 'documentation', command: [node, 'hack/verify-docs.mjs'] },
];

const summary = { passed: 0, failed: 0, failures: [] };
for (const { name, command } of steps) {
  process.stdout.write(`== ${name}\n`);
  if ((await run(command)) !== 0) {
    summary.failed += 1;
    summary.failures.push(`npm run verify: ${name}`);
    process.stdout.write(`== ${name} failed\n`);
    process.exitCode = 1;
    break;
  }
  summary.passed += 1;
}
const file = process.argv.find((arg) => arg.startsWith('--summary='))?.slice('--summary='.length);
if (file !== undefined) writeFileSync(file, JSON.stringify(summary));

function run([program, ...args]) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
