import { Router, type Request, type Response } from 'express';
import type { Registry } from 'prom-client';
import { newPathMethodNotAllowed, untilAborted, withinTime } from '#pkg/apimachinery/index';
import type { EndpointGroup } from './endpoint-group.ts';
import { contextOf } from './express-handler.ts';
import type { RequestContext } from '../request/request-context.ts';
import { send, sendJson } from '../answer/respond.ts';

/** One health condition. */
export interface HealthCheck {
  /** Shown to anyone: `database`. */
  readonly name: string;
  /**
   * Fails by throwing, or by not ending within 5 s. The reason is logged; only the message of a NotReadyError is shown.
   * A returned text is shown instead of `ok`.
   */
  check(signal: AbortSignal): Promise<string | void>;
  /**
   * Shown with `?verbose`, without effect on the result. It must be cheap, since anyone may call it; its owner logs
   * failures.
   */
  readonly isInformative?: boolean;
}

/** A check failed for a known reason, which anyone may read; logged without a stack. */
export class NotReadyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NotReadyError';
  }
}

export interface HealthEndpointsOptions {
  /** Whether the process works at all. Default: it does if it answers. */
  livez?: readonly HealthCheck[];
  /** Whether requests should be sent here. A draining server is never ready. */
  readyz: readonly HealthCheck[];
  svcVersion: string;
  /** Of the build; default: not shown. */
  gitCommit?: string;
  registry: Registry;
  /** The text of `/metrics`. Default: that of the registry. */
  metricsText?: (() => Promise<string>) | undefined;
  checkTimeoutMs?: number;
}

/**
 * Always answered, even in overload and with any credential: otherwise the orchestrator would kill the process, send it
 * no traffic, or mistake it for another server.
 */
export const openHealthPaths: ReadonlySet<string> = new Set(['/livez', '/readyz', '/healthz', '/version']);

/**
 * `/livez`, `/readyz`, `/healthz` (same as readyz) and `/version`, open to anyone, and `/metrics`, which is not.
 * `?verbose` lists the checks; each `?exclude=<check>` leaves one out of the result. Source of both: Kubernetes' API
 * health endpoints.
 */
export function healthEndpoints({
  livez = [],
  readyz,
  svcVersion,
  gitCommit = '',
  registry,
  metricsText = () => registry.metrics(),
  checkTimeoutMs = 5000,
}: HealthEndpointsOptions): EndpointGroup[] {
  return [
    probe('livez', livez, { checkTimeoutMs, failsDraining: false }),
    probe('readyz', readyz, { checkTimeoutMs, failsDraining: true }),
    probe('healthz', readyz, { checkTimeoutMs, failsDraining: true }),
    {
      prefix: '/version',
      isOpen: true,
      router: getOnly((context) => sendJson(context, 200, versionInfo(svcVersion, gitCommit))),
    },
    {
      prefix: '/metrics',
      router: getOnly(async (context) => send(context, 200, registry.contentType, await metricsText())),
    },
  ];
}

function probe(
  name: string,
  checks: readonly HealthCheck[],
  options: { checkTimeoutMs: number; failsDraining: boolean },
): EndpointGroup {
  // Concurrent requests share one run: anyone may send them, and a check may cost a query.
  let running: Promise<Outcomes> | undefined;
  const told: LoggedFailures = new Map();
  const router = getOnly(async (context) => {
    running ??= outcomesOf(
      checks.filter(({ isInformative }) => isInformative !== true),
      options.checkTimeoutMs,
    ).finally(() => {
      running = undefined;
    });
    const deciding = new Map(await running);
    if (options.failsDraining && context.draining.aborted)
      deciding.set('shutdown', { failure: new NotReadyError('draining') });
    logFailures(name, deciding, context.log, told);
    for (const check of context.query.getAll('exclude'))
      if (deciding.has(check)) deciding.set(check, { word: 'excluded: ok' });
    const isVerbose = context.query.has('verbose');
    const informative = isVerbose
      ? await outcomesOf(
          checks.filter(({ isInformative }) => isInformative === true),
          options.checkTimeoutMs,
        )
      : new Map<string, Outcome>();
    const isWell = Array.from(deciding.values()).every(({ failure }) => failure === undefined);
    const lines = [
      ...Array.from(deciding, (entry) => lineOf(entry, '[-]', 'failed')),
      ...Array.from(informative, (entry) => lineOf(entry, '[!]', 'failed, which does not count')),
    ];
    const verdict = `${name} check ${isWell ? 'passed' : 'failed'}\n`;
    const text = !isWell || isVerbose ? lines.join('') + verdict : 'ok';
    await send(context, isWell ? 200 : 503, 'text/plain; charset=utf-8', text);
  });
  return { prefix: `/${name}`, isOpen: true, router };
}

interface Outcome {
  /** Why it failed. */
  failure?: unknown;
  word?: string;
}

/** By check name, in order. */
type Outcomes = ReadonlyMap<string, Outcome>;

function lineOf([name, { failure, word = 'ok' }]: [string, Outcome], mark: string, what: string): string {
  return failure === undefined
    ? `[+]${name} ${word}\n`
    : `${mark}${name} ${what}: ${failure instanceof NotReadyError ? failure.message : 'reason withheld'}\n`;
}

/** By check: the reason last logged, and when. */
type LoggedFailures = Map<string, { why: string; at: number }>;

/** A check that keeps failing for the same reason is logged once a minute: probes come every second. */
const repeatMs = 60_000;

function logFailures(name: string, outcomes: Outcomes, log: RequestContext['log'], told: LoggedFailures): void {
  for (const [check, { failure: err }] of outcomes) {
    if (err === undefined) {
      told.delete(check);
      continue;
    }
    const why = err instanceof Error ? err.message : 'what it threw is no error';
    const last = told.get(check);
    if (last?.why === why && performance.now() - last.at < repeatMs) continue;
    told.set(check, { why, at: performance.now() });
    log.warn({ probe: name, check, ...(err instanceof NotReadyError ? {} : { err }) }, `health check failed: ${why}`);
  }
}

async function outcomesOf(checks: readonly HealthCheck[], timeoutMs: number): Promise<Outcomes> {
  const timeoutError = (): Error => new NotReadyError(`not done within ${timeoutMs} ms`);
  const outcomes = await Promise.all(
    checks.map(async (check): Promise<[string, Outcome]> => {
      try {
        const word = await withinTime({ timeoutMs, timeoutError }, (limit) => untilAborted(check.check(limit), limit));
        return [check.name, typeof word === 'string' ? { word } : {}];
      } catch (error) {
        return [check.name, { failure: error ?? 'failed' }];
      }
    }),
  );
  return new Map(outcomes);
}

/** A router that serves one path, by GET and HEAD alone. */
function getOnly(handle: (context: RequestContext) => Promise<void>): Router {
  const router = Router({ strict: true });
  router.get('/', (request: Request) => handle(contextOf(request)));
  router.all('/', (_request: Request, response: Response) => {
    response.setHeader('Allow', 'GET, HEAD');
    throw newPathMethodNotAllowed();
  });
  return router;
}

/** Clients choose their protocol by the Kubernetes version. Source: k8s.io/apimachinery/pkg/version Info. */
function versionInfo(svcVersion: string, gitCommit: string): string {
  return JSON.stringify({
    major: '1',
    minor: '33',
    gitVersion: 'v1.33.0',
    gitCommit,
    gitTreeState: svcVersion.endsWith('.dirty') ? 'dirty' : 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: '',
    platform: `${process.platform}/${process.arch}`,
    svcVersion,
  });
}
