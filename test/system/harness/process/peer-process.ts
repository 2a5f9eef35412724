import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { retryUntilTrue } from '../retry-until-true.ts';

const programs = ['etcd', 'crdserver'] as const;
/** The one that crdserver knows. */
export const peerToken = 'bench';

/** How much the heap may grow between collections: with Go's 100 they take a fifth of the processor time. */
const garbageCollectionPercent = '800';

/** The programs that a folder lacks. */
export function missingPrograms(folder: string): string[] {
  return programs.filter((program) => !existsSync(join(folder, 'bin', program)));
}

/** A Kubernetes API server for custom resources with its etcd, on free ports. */
export class PeerProcess {
  readonly url: string;
  readonly #children: ChildProcess[];

  private constructor(url: string, children: ChildProcess[]) {
    this.url = url;
    this.#children = children;
  }

  /** `peer` has the programs, `data` is an empty folder for what they write. */
  static async start(peer: string, data: string): Promise<PeerProcess> {
    const [client, internal, https, http] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
    const etcdUrl = `http://127.0.0.1:${client}`;
    const internalUrl = `http://127.0.0.1:${internal}`;
    const etcd = startProgram(peer, data, 'etcd', {
      'data-dir': join(data, 'etcd'),
      'listen-client-urls': etcdUrl,
      'advertise-client-urls': etcdUrl,
      'listen-peer-urls': internalUrl,
      'initial-advertise-peer-urls': internalUrl,
      'initial-cluster': `default=${internalUrl}`,
      'log-level': 'error',
      // Nothing of it is needed after the run.
      'unsafe-no-fsync': 'true',
    });
    const server = startProgram(peer, data, 'crdserver', {
      etcd: etcdUrl,
      'secure-port': String(https),
      'http-addr': `127.0.0.1:${http}`,
      'cert-dir': join(data, 'certs'),
    });
    const started = new PeerProcess(`http://127.0.0.1:${http}`, [server, etcd]);
    try {
      await retryUntilTrue(
        async () => {
          if (server.exitCode !== null || etcd.exitCode !== null) return true;
          return (await fetch(`${started.url}/readyz`, { headers: { authorization: `Bearer ${peerToken}` } })).ok;
        },
        { what: 'the peer is ready', timeoutMs: 300_000, intervalMs: 100 },
      );
      if (server.exitCode !== null || etcd.exitCode !== null)
        throw new Error(`the peer ended:\n${programs.map((name) => logOf(data, name).slice(-2000)).join('\n')}`);
      return started;
    } catch (error) {
      await started.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, 'exit');
      // Nothing that it has is needed any more.
      child.kill('SIGKILL');
      await exited;
    }
  }
}

function startProgram(
  peer: string,
  data: string,
  name: string,
  options: Readonly<Record<string, string>>,
): ChildProcess {
  const log = openSync(join(data, `${name}.log`), 'a');
  const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
  const child = spawn(join(peer, 'bin', name), args, {
    cwd: data,
    env: { GOGC: garbageCollectionPercent },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  return child;
}

function logOf(data: string, name: string): string {
  return readFileSync(join(data, `${name}.log`), 'utf8');
}
