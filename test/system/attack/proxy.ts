import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { HaproxyProcess } from '../harness/process/haproxy-process.ts';

const deployed = fileURLToPath(new URL('../../../deploy/haproxy.cfg', import.meta.url));

/** One port for each service. */
export interface ServicePorts {
  platform: number;
  access: number;
}

/**
 * haproxy with the routing of deploy/haproxy.cfg, on loopback, in front of one server. Throws if that file has changed.
 */
export function startProxy(
  folder: string,
  { at, to }: { at: ServicePorts; to: ServicePorts },
): Promise<HaproxyProcess> {
  return HaproxyProcess.start(folder, localConfig(readFileSync(deployed, 'utf8'), at, to), {
    isReady: async () => {
      const answers = await Promise.all(
        [at.platform, at.access].map((port) => fetch(`http://127.0.0.1:${port}/readyz`)),
      );
      return answers.every(({ ok }) => ok);
    },
  });
}

/** Replaces Docker's names with local addresses; the rest is as deployed. */
function localConfig(text: string, at: ServicePorts, to: ServicePorts): string {
  const edits: readonly [RegExp, string][] = [
    [/^resolvers docker\n(?: .*\n)+/m, ''],
    [/ resolvers docker init-addr none/, ''],
    [/^ {2}bind :8090$/m, `  bind 127.0.0.1:${at.platform}`],
    [/^ {2}bind :8091$/m, `  bind 127.0.0.1:${at.access}`],
    [/dst_port 8091/, `dst_port ${at.access}`],
    [/server-template apiserver 20 apiserver:8090/, `server apiserver 127.0.0.1:${to.platform}`],
    // Without a service of that name.
    [/ {2}server-template apiserver-reads .*\n/, ''],
    [/server-template access-server 20 access-server:8091/, `server access-server 127.0.0.1:${to.access}`],
  ];
  return edits.reduce((config, [from, into]) => {
    if (!from.test(config)) throw new Error(`deploy/haproxy.cfg has no ${from.source}`);
    return config.replace(from, into);
  }, text);
}
