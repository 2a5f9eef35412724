import { Router, type Request, type Response } from 'express';
import type { Registry } from 'prom-client';
import { StatusError } from '#pkg/apimachinery/index';
import type { EndpointGroup } from './endpoint-group.ts';
import { contextOf } from './express-handler.ts';
import type { RequestContext } from './request-context.ts';
import { send, sendJson } from './respond.ts';

/** One condition of being healthy. */
export interface HealthCheck {
  /** Shown to anyone: `database`. */
  readonly name: string;
  /** Throws, or does not come to an end in 5 s, where it is not met; why is logged, not shown. */
  check(signal: AbortSignal): Promise<void>;
}

export interface HealthOptions {
  /** Does the process work at all? Default: it does when it answers. */
  livez?: readonly HealthCheck[];
  /** Should requests be sent here? A draining server is never ready. */
  readyz: readonly HealthCheck[];
  svcVersion: string;
  registry: Registry;
  checkTimeoutMs?: number;
}

/** `/livez`, `/readyz`, `/healthz` (as readyz) and `/version`, open to anyone, and `/metrics`, which is not. */
export function healthEndpoints({ livez = [], readyz, svcVersion, registry, checkTimeoutMs = 5000 }: HealthOptions): EndpointGroup[] {
  return [
    probe('livez', livez, { checkTimeoutMs, failsDraining: false }),
    probe('readyz', readyz, { checkTimeoutMs, failsDraining: true }),
    probe('healthz', readyz, { checkTimeoutMs, failsDraining: true }),
    { prefix: '/version', isOpen: true, router: getOnly((context) => sendJson(context, 200, versionInfo(svcVersion))) },
    { prefix: '/metrics', router: getOnly(async (context) => send(context, 200, registry.contentType, await registry.metrics())) },
  ];
}

function probe(name: string, checks: readonly HealthCheck[], options: { checkTimeoutMs: number; failsDraining: boolean }): EndpointGroup {
  // One run serves all who ask meanwhile: anyone may ask, and a check may cost a query.
  let running: Promise<ReadonlyMap<string, unknown>> | undefined;
  const router = getOnly(async (context) => {
    running ??= failures(checks, options.checkTimeoutMs).finally(() => {
      running = undefined;
    });
    const failed = new Map(await running);
    if (options.failsDraining && context.draining.aborted) failed.set('shutdown', 'draining');
    for (const [check, err] of failed) context.log.warn({ probe: name, check, err }, 'health check failed');
    const lines = [...new Set([...checks.map(({ name: check }) => check), ...failed.keys()])].map((check) =>
      failed.has(check) ? `[-]${check} failed: reason withheld\n` : `[+]${check} ok\n`,
    );
    const verdict = `${name} check ${failed.size === 0 ? 'passed' : 'failed'}\n`;
    const text = failed.size > 0 || context.query.has('verbose') ? lines.join('') + verdict : 'ok';
    await send(context, failed.size === 0 ? 200 : 503, 'text/plain; charset=utf-8', text);
  });
  return { prefix: `/${name}`, isOpen: true, router };
}

/** Why each failing check fails. */
async function failures(checks: readonly HealthCheck[], timeoutMs: number): Promise<Map<string, unknown>> {
  const failed = new Map<string, unknown>();
  await Promise.all(
    checks.map(async (check) => {
      try {
        await withinTime(check, timeoutMs);
      } catch (error) {
        failed.set(check.name, error);
      }
    }),
  );
  return failed;
}

async function withinTime(check: HealthCheck, timeoutMs: number): Promise<void> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const error = new Error(`not done within ${timeoutMs} ms`);
      reject(error);
      controller.abort(error);
    }, timeoutMs);
  });
  try {
    await Promise.race([check.check(controller.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A router that serves one path, by GET and HEAD alone. */
function getOnly(handle: (context: RequestContext) => Promise<void>): Router {
  const router = Router({ strict: true });
  router.get('/', (request: Request) => handle(contextOf(request)));
  router.all('/', (_request: Request, response: Response) => {
    response.setHeader('Allow', 'GET, HEAD');
    throw new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
  });
  return router;
}

/** Clients choose how to talk by the Kubernetes version. Source: k8s.io/apimachinery/pkg/version Info. */
function versionInfo(svcVersion: string): string {
  return JSON.stringify({
    major: '1',
    minor: '33',
    gitVersion: 'v1.33.0',
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: '',
    platform: `${process.platform}/${process.arch}`,
    svcVersion,
  });
}
