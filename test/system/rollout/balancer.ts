import { connect } from 'node:net';
import { join } from 'node:path';
import { HaproxyProcess } from '../harness/haproxy-process.ts';

const slotCount = 8;
const commandTimeoutMs = 5_000;

/** One address and port, behind which there are servers that come and go. */
export interface Frontend {
  name: string;
  /** Where it listens. */
  binds: readonly string[];
  /** `http`: asked at /readyz twice a second besides; `tcp`: connections as they are. */
  mode: 'http' | 'tcp';
}

/**
 * haproxy as a cluster's load balancer: HTTP with connections kept alive on both sides, a request tried again only
 * where no connection came about, so that no failure is hidden. Servers are put in and taken out while it runs.
 */
export class Balancer {
  readonly #folder: string;
  readonly #slots = new Map<string, (string | undefined)[]>();
  #haproxy: HaproxyProcess | undefined;

  static async start(folder: string, frontends: readonly Frontend[]): Promise<Balancer> {
    const balancer = new Balancer(folder);
    for (const { name } of frontends)
      balancer.#slots.set(
        name,
        Array.from({ length: slotCount }, () => undefined),
      );
    balancer.#haproxy = await HaproxyProcess.start(folder, configText(balancer.#socket, frontends), {
      isReady: async () => (await balancer.#command('show info')).includes('Uptime'),
    });
    return balancer;
  }

  private constructor(folder: string) {
    this.#folder = folder;
  }

  get #socket(): string {
    return join(this.#folder, 'haproxy.sock');
  }

  /** From now on it is sent its share. */
  async add(frontend: string, host: string, port: number): Promise<void> {
    const slots = this.#slotsOf(frontend);
    const server = `${host}:${port}`;
    if (slots.includes(server)) return;
    const free = slots.indexOf(undefined);
    if (free === -1) throw new Error(`${frontend} has no place left for ${server}`);
    slots[free] = server;
    const slot = `${frontend}/s${free + 1}`;
    await this.#command(`set server ${slot} addr ${host} port ${port}`);
    await this.#command(`set server ${slot} state ready`);
    await this.#command(`set server ${slot} health up`);
  }

  /** It is sent nothing new from now on; what is under way goes on, unless `isCut`. */
  async remove(frontend: string, host: string, { isCut = false } = {}): Promise<void> {
    const slots = this.#slotsOf(frontend);
    const index = slots.findIndex((server) => server?.startsWith(`${host}:`));
    if (index === -1) return;
    slots[index] = undefined;
    const slot = `${frontend}/s${index + 1}`;
    await this.#command(`set server ${slot} state maint`);
    if (isCut) await this.#command(`shutdown sessions server ${slot}`);
  }

  async stop(): Promise<void> {
    await this.#haproxy?.stop();
  }

  #slotsOf(frontend: string): (string | undefined)[] {
    const slots = this.#slots.get(frontend);
    if (slots === undefined) throw new Error(`there is no frontend ${frontend}`);
    return slots;
  }

  #command(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.#socket);
      let answer = '';
      socket.setTimeout(commandTimeoutMs, () => socket.destroy(new Error(`haproxy did not answer: ${text}`)));
      socket.on('data', (bytes) => (answer += bytes.toString()));
      socket.on('error', reject);
      socket.on('close', () =>
        /^(No such|Require|Unknown|Invalid|Can't|Malformed)/.test(answer.trim())
          ? reject(new Error(`haproxy: ${text}: ${answer.trim()}`))
          : resolve(answer),
      );
      socket.end(`${text}\n`);
    });
  }
}

function configText(socket: string, frontends: readonly Frontend[]): string {
  const parts = frontends.map(({ name, binds, mode }) =>
    [
      `listen ${name}`,
      `  mode ${mode}`,
      ...binds.map((bind) => `  bind ${bind}`),
      ...(mode === 'http'
        ? [
            '  option httpchk GET /readyz?exclude=writes',
            '  http-check expect status 200',
            '  http-reuse safe',
            '  balance leastconn',
          ]
        : []),
      `  server-template s ${slotCount} 127.0.0.1:1 disabled${mode === 'http' ? ' check inter 500ms fall 2 rise 1' : ''}`,
    ].join('\n'),
  );
  return [
    'global',
    `  stats socket ${socket} mode 600 level admin`,
    '  maxconn 8000',
    'defaults',
    '  timeout connect 2s',
    '  timeout client 1h',
    '  timeout server 1h',
    '  timeout tunnel 12h',
    '  timeout http-request 10s',
    '  timeout http-keep-alive 5m',
    // A busy machine is slow to answer, and is not gone.
    '  timeout check 10s',
    '  retries 3',
    '  retry-on conn-failure',
    '  option redispatch 1',
    ...parts,
    '',
  ].join('\n');
}
