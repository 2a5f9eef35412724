import { useEffect, useRef, useState } from 'react';
import { readText, server } from '../server/server.ts';
import { parseMetrics } from './parse-metrics.ts';
import type { MetricsReading } from './metrics-reading.ts';

/** `failedInformative`: it failed, and does not count. */
export type CheckResult = 'passed' | 'failed' | 'failedInformative';

export interface HealthCheck {
  result: CheckResult;
  /** As the server writes it: `database ok`. */
  text: string;
}

export interface HealthState {
  isLive: boolean;
  isReady: boolean;
  checks: readonly HealthCheck[];
  version: string;
  at: Date;
  readings: { now: MetricsReading; before: MetricsReading | undefined } | undefined;
  /** Why there are no measurements. */
  failure: unknown;
}

const refreshMs = 10_000;

/** Asks every ten seconds while the page is visible, and when `ask` is called. */
export function useHealth({ mayMeasure }: { mayMeasure: boolean }): {
  /** Undefined until the first answer. */
  state: HealthState | undefined;
  ask: () => void;
} {
  const [state, setState] = useState<HealthState | undefined>(undefined);
  const current = useRef<() => void>(() => undefined);
  useEffect(() => {
    const end = new AbortController();
    const { signal } = end;
    let before: MetricsReading | undefined;
    let isAsking = false;
    const ask = async (): Promise<void> => {
      if (isAsking || document.hidden) return;
      isAsking = true;
      const next = await readHealth({ mayMeasure, before, signal });
      isAsking = false;
      if (signal.aborted) return;
      before = next.readings?.now;
      setState(next);
    };
    current.current = () => void ask();
    current.current();
    const timer = setInterval(current.current, refreshMs);
    document.addEventListener('visibilitychange', current.current, { signal });
    return () => {
      clearInterval(timer);
      end.abort();
    };
  }, [mayMeasure]);
  return { state, ask: () => current.current() };
}

interface ReadHealthOptions {
  mayMeasure: boolean;
  before: MetricsReading | undefined;
  signal: AbortSignal;
}

/** Never rejects: a server that does not answer is a state, too. */
async function readHealth({ mayMeasure, before, signal }: ReadHealthOptions): Promise<HealthState> {
  const [live, ready, version, measured] = await Promise.all([
    answerOf('/livez', signal),
    answerOf('/readyz?verbose', signal),
    server.read('/version', { signal }).catch(() => undefined) as Promise<{ svcVersion?: string } | undefined>,
    mayMeasure ? answerOf('/metrics', signal) : undefined,
  ]);
  return {
    isLive: live.status === 200,
    isReady: ready.status === 200,
    checks: parseChecks(ready.text),
    version: version?.svcVersion ?? '',
    at: new Date(),
    readings:
      measured?.status === 200
        ? { now: { metrics: parseMetrics(measured.text), at: performance.now() }, before }
        : undefined,
    failure: measured === undefined || measured.status === 200 ? undefined : new Error(measured.text),
  };
}

async function answerOf(path: string, signal: AbortSignal): Promise<{ status: number; text: string }> {
  try {
    return await readText(path, signal);
  } catch (error) {
    return { status: 0, text: error instanceof Error ? error.message : String(error) };
  }
}

const resultOfMark: Readonly<Record<string, CheckResult>> = {
  '+': 'passed',
  '-': 'failed',
  '!': 'failedInformative',
};

function parseChecks(text: string): HealthCheck[] {
  return [...text.matchAll(/^\[([+!-])\](.*)$/gm)].map(([, mark, line]) => ({
    result: resultOfMark[mark!]!,
    text: line!,
  }));
}
