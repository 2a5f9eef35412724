import { fileURLToPath } from 'node:url';
import type { ClientCase } from '../client-case.ts';
import { runCommand } from '../site/run-command.ts';

/** Debian's Python, for which the package is. */
const interpreter = '/usr/bin/python3';
const program = fileURLToPath(new URL('program.py', import.meta.url));

interface PythonCheck {
  what: string;
  holds: boolean;
  because: string;
}

/** Debian's python3-kubernetes (22.6 in bookworm): program.py says what it does. */
export const python: ClientCase = {
  missing: async () => {
    const found = await runCommand(interpreter, ['-c', 'import kubernetes']).catch(() => undefined);
    return found?.status === 0 ? undefined : 'it is not installed: apt-get install python3-kubernetes';
  },
  run: async (site) => {
    const shown = await runCommand(interpreter, ['-c', 'import kubernetes; print(kubernetes.__version__)']);
    site.report.say(`python3-kubernetes: ${shown.stdout.trim()}`);
    const result = await runCommand(interpreter, [program], { env: site.env });
    const checks = result.stdout.split('\n').filter((line) => line.startsWith('{'));
    for (const line of checks) {
      const { what, holds, because } = JSON.parse(line) as PythonCheck;
      site.check(what, holds, because);
    }
    site.checkDone('the program ends well', result);
  },
};
