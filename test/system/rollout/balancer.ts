import { connect } from 'node:net';
import { join } from 'node:path';
import { HaproxyProcess } from '../harness/process/haproxy-process.ts';

const slotCount = 8;
const commandTimeoutMs = 5_000;

/** One address and port for a changing set of servers. */
export interface Frontend {
  name: string;
  /** Its addresses. */
  binds: readonly string[];
  /** `http`: also checks /readyz twice a second; `tcp`: forwards connections unchanged. */
  mode: 'http' | 'tcp';
}

/**
 * haproxy as a cluster's load balancer: HTTP with keep-alive on both sides; retries a request only if no connection was
 * established, so that no failure is hidden. Servers are added and removed at run time.
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

  /** Adds a server, which then gets its share of requests. */
  async add(frontend: string, host: string, port: number): Promise<void> {
    const slots = this.#slotsOf(frontend);
    const server = `${host}:${port}`;
    if (slots.includes(server)) return;
    const free = slots.indexOf(undefined);
    if (free === -1) throw new Error(`${frontend} has no free slot for ${server}`);
    slots[free] = server;
    const slot = `${frontend}/s${free + 1}`;
    await this.#command(`set server ${slot} addr ${host} port ${port}`);
    await this.#command(`set server ${slot} state ready`);
    await this.#command(`set server ${slot} health up`);
  }

  /** Sends nothing new to the server; running requests continue, unless `isCut`. */
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
        : // haproxy would wait a second before it tries again; a Service refuses at once.
          ['  retries 0']),
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
    // A slow machine must not count as down.
    '  timeout check 10s',
    '  retries 3',
    '  retry-on conn-failure',
    '  option redispatch 1',
    ...parts,
    '',
  ].join('\n');
}
