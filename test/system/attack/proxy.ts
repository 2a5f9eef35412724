import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pollUntil } from '../harness/poll-until.ts';

const deployed = fileURLToPath(new URL('../../../deploy/haproxy.cfg', import.meta.url));

/** One port for each service. */
export interface ServicePorts {
  platform: number;
  access: number;
}

/**
 * haproxy with the routing of deploy/haproxy.cfg, on loopback, in front of one server; resolves with what ends it.
 * Throws where that file is another than it was.
 */
export async function startProxy(
  folder: string,
  { at, to }: { at: ServicePorts; to: ServicePorts },
): Promise<() => Promise<void>> {
  const config = join(folder, 'haproxy.cfg');
  writeFileSync(config, localConfig(readFileSync(deployed, 'utf8'), at, to));
  const log = openSync(join(folder, 'haproxy.log'), 'a');
  const child = spawn('haproxy', ['-db', '-f', config], {
    env: { PATH: '/usr/sbin:/usr/bin' },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  let hasEnded = false;
  child.once('error', () => (hasEnded = true));
  child.once('exit', () => (hasEnded = true));
  const stop = async (): Promise<void> => {
    if (hasEnded) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  try {
    await pollUntil(
      async () => {
        if (hasEnded)
          throw new Error(
            `haproxy ended, or is not installed: ${readFileSync(join(folder, 'haproxy.log'), 'utf8').slice(0, 1000)}`,
          );
        const answers = await Promise.all(
          [at.platform, at.access].map((port) => fetch(`http://127.0.0.1:${port}/readyz`)),
        );
        return answers.every(({ ok }) => ok);
      },
      { what: 'haproxy passes requests on', timeoutMs: 15_000 },
    );
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Addresses are these instead of those of Docker's names; all else is as it is deployed. */
function localConfig(text: string, at: ServicePorts, to: ServicePorts): string {
  const edits: readonly [RegExp, string][] = [
    [/^resolvers docker\n(?: .*\n)+/m, ''],
    [/ resolvers docker init-addr none/, ''],
    [/^ {2}bind :8090$/m, `  bind 127.0.0.1:${at.platform}`],
    [/^ {2}bind :8091$/m, `  bind 127.0.0.1:${at.access}`],
    [/dst_port 8091/, `dst_port ${at.access}`],
    [/server-template apiserver 20 apiserver:8090/, `server apiserver 127.0.0.1:${to.platform}`],
    [/server-template access-server 20 access-server:8091/, `server access-server 127.0.0.1:${to.access}`],
  ];
  return edits.reduce((config, [from, into]) => {
    if (!from.test(config)) throw new Error(`deploy/haproxy.cfg has no ${from.source}`);
    return config.replace(from, into);
  }, text);
}
