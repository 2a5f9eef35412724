import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';

const defaultTimeoutMs = 400_000;

/**
 * Runs blocks in one bash session, which ends at the first failure together with its background processes. `outputs[i]`
 * is the stdout of block i; missing for blocks that did not run. `code` is the exit code of the session.
 */
export async function runBlocks(blocks, { cwd, env, timeoutMs = defaultTimeoutMs }) {
  const mark = `--- ${randomUUID()} ---`;
  const script = blocks.map(({ script: each }) => `printf '\\n%s\\n' '${mark}'\n${each}`).join('\n');
  // Detached: a separate process group, so that background processes can be killed too.
  const child = spawn('bash', ['-c', `set -euo pipefail\n${script}`], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const timer = setTimeout(() => endGroup(child.pid), timeoutMs);
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    // Background processes keep the pipes open: killed here, so that they close.
    child.once('exit', () => endGroup(child.pid));
    child.once('close', (exitCode) => resolve(exitCode));
  });
  clearTimeout(timer);
  const outputs = stdout.text().split(`\n${mark}\n`).slice(1);
  return { code, outputs, stderr: stderr.text() };
}

function collect(stream) {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  return { text: () => text };
}

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has already ended.
  }
}
