import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { newPersonalToken } from '#pkg/identity/index';
import type { FailoverDatabase } from '../../../../pkg/testenv/failover-database.ts';
import { loadOptions } from '../../options/load-options.ts';
import { databaseUrlOf } from '../../start-test-program.ts';
import { startPlatform, type Platform } from '../start-platform.ts';

export interface ServedPlatform {
  platform: Platform;
  url: string;
  /** '' if access management runs elsewhere. */
  accessUrl: string;
  token: string;
  /** What it has logged, from level info. */
  lines: Record<string, unknown>[];
  /** Status, headers and body of a request as the administrator. */
  call(method: string, path: string, body?: unknown): Promise<PlatformAnswer>;
  /** Stops it and removes its folder. */
  stop(): Promise<void>;
}

export interface PlatformAnswer {
  status: number;
  headers: Headers;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of any shape
  body: any;
}

/** `svc serve` within this process, on free ports. */
export async function startServedPlatform(
  database: Pick<FailoverDatabase, 'connection' | 'name'>,
  args: readonly string[] = [],
  { consoleFolder = '', accessServer = true }: { consoleFolder?: string; accessServer?: boolean } = {},
): Promise<ServedPlatform> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-platform-'));
  const token = newPersonalToken();
  const { options } = loadOptions({
    environment: {},
    args: [
      ...['svc.server.port', 'svc.server.tls.port', 'svc.access.port', 'svc.access.tls.port'].map(
        (name) => `--${name}=0`,
      ),
      `--svc.data.dir=${folder}`,
      `--svc.database.url=${databaseUrlOf(database)}`,
      `--svc.security.initial-admin-token=${token}`,
      ...args,
    ],
  });
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const platform = await startPlatform(options, log, {
    controllers: true,
    accessServer,
    local: false,
    environment: {},
    consoleFolder: consoleFolder === '' ? join(folder, 'console') : consoleFolder,
  });
  const url = `http://127.0.0.1:${platform.address.port}`;
  return {
    platform,
    url,
    accessUrl: platform.access === undefined ? '' : `http://127.0.0.1:${platform.access.address.port}`,
    token,
    lines,
    call: async (method, path, body) => {
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      const isJson =
        !path.includes('watch=true') && answer.headers.get('content-type')?.startsWith('application/json') === true;
      return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : undefined };
    },
    stop: async () => {
      await platform.stop();
      await rm(folder, { recursive: true });
    },
  };
}
