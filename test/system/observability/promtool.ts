import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Prometheus' own checker, from Debian's package prometheus. Without it tests of rules are skipped with a message, and
 * fail in CI.
 */
export const hasPromtool = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, 'promtool')));
if (!hasPromtool && process.env['CI'] !== 'true')
  process.stderr.write(
    'WARNING: promtool is not installed, so alerts and dashboards are not checked with Prometheus.\n',
  );
export const mayPromtoolBeMissing = !hasPromtool && process.env['CI'] !== 'true';

/** Below the limit of a whole test. The trials of alerts need ten seconds of a processor, which CI shares between suites. */
const timeoutMs = 500_000;

/** Returns its output; rejects with it on failure. */
export async function promtool(...args: string[]): Promise<string> {
  try {
    const { stdout } = await run('promtool', args, { timeout: timeoutMs });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`promtool ${args[0]} ${args[1]}: ${stdout}${stderr}`, { cause: error });
  }
}
