import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { stringify } from 'yaml';
import { alertsFile } from '../../harness/alerts/alert-rules.ts';
import { freePort } from '../../harness/process/free-port.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { shorter, shortenRules } from './shorten-rules.ts';

export interface FiringAlert {
  readonly alert: string;
  readonly cause?: string;
  readonly severity: string;
}

export interface PrometheusOptions {
  /** A new folder for its data. */
  readonly folder: string;
  /** The scrape token of svc. */
  readonly token: string;
  /** How much faster time passes for it. */
  readonly speed: number;
}

/** Whether Debian's package prometheus is installed. */
export const hasPrometheus = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, 'prometheus')));

/** A real Prometheus with the rules of svc, in which time passes faster: it scrapes and evaluates more often, too. */
export class PrometheusProcess {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #url: string;

  static async start({ folder, token, speed }: PrometheusOptions): Promise<PrometheusProcess> {
    await mkdir(folder);
    const interval = shorter('30s', speed);
    await writeFile(join(folder, 'rules.yaml'), shortenRules(await readFile(alertsFile, 'utf8'), speed));
    await writeFile(join(folder, 'targets.json'), '[]');
    await writeFile(
      join(folder, 'prometheus.yaml'),
      stringify({
        global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
        rule_files: ['rules.yaml'],
        scrape_configs: [
          {
            job_name: 'svc',
            authorization: { credentials: token },
            file_sd_configs: [{ files: ['targets.json'], refresh_interval: '1s' }],
          },
        ],
      }),
    );
    const port = await freePort();
    const log = openSync(join(folder, 'prometheus.log'), 'a');
    const child = spawn(
      'prometheus',
      [
        '--config.file=prometheus.yaml',
        '--storage.tsdb.path=data',
        `--web.listen-address=127.0.0.1:${port}`,
        `--query.lookback-delta=${shorter('5m', speed)}`,
      ],
      { cwd: folder, env: { PATH: process.env['PATH'] }, stdio: ['ignore', log, log] },
    );
    closeSync(log);
    const prometheus = new PrometheusProcess(child, folder, `http://127.0.0.1:${port}`);
    try {
      await retryUntilTrue(async () => (await fetch(`${prometheus.#url}/-/ready`)).ok, {
        what: `Prometheus is ready, by ${join(folder, 'prometheus.log')}`,
        timeoutMs: 60_000,
      });
      return prometheus;
    } catch (error) {
      await prometheus.stop();
      throw error;
    }
  }

  private constructor(child: ChildProcess, folder: string, url: string) {
    this.#child = child;
    this.#folder = folder;
    this.#url = url;
  }

  /** What it scrapes from now on: addresses with ports. */
  async scrape(targets: readonly string[]): Promise<void> {
    const file = join(this.#folder, 'targets.json');
    await writeFile(`${file}.new`, JSON.stringify([{ targets, labels: { namespace: 'incidents' } }]));
    await rename(`${file}.new`, file);
  }

  async firing(): Promise<FiringAlert[]> {
    const { alerts } = await this.#get<{
      alerts: { state: string; labels: { alertname: string; cause?: string; severity: string } }[];
    }>('/api/v1/alerts');
    return alerts
      .filter(({ state }) => state === 'firing')
      .map(({ labels: { alertname, cause, severity } }) => ({
        alert: alertname,
        severity,
        ...(cause === undefined ? {} : { cause }),
      }));
  }

  /** The sum of an expression's samples; undefined without any. */
  async value(expression: string): Promise<number | undefined> {
    const { result } = await this.#get<{ result: { value: [number, string] }[] }>(
      `/api/v1/query?query=${encodeURIComponent(expression)}`,
    );
    return result.length === 0 ? undefined : result.reduce((sum, { value }) => sum + Number(value[1]), 0);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  async #get<Data>(path: string): Promise<Data> {
    const answer = await fetch(this.#url + path);
    const { data, error } = (await answer.json()) as { data: Data; error?: string };
    if (error !== undefined) throw new Error(`Prometheus: ${error}`);
    return data;
  }
}
