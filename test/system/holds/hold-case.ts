import type { MeasuredRequest, MeasuredServer } from './measured-server.ts';

/** One input at the limits, or as large as real ones. */
export interface HoldCase {
  name: string;
  /** Limit of one turn of the event loop, in milliseconds of processor time. Default 100. */
  limitMs?: number;
  /** Setup that is not measured. */
  prepare?: (server: MeasuredServer) => Promise<void>;
  /** Sent in sequence, with `round` from 0: the first time is slower. */
  requests: (round: number) => MeasuredRequest[];
  /** Watches that are open meanwhile. */
  watches?: string[];
}

/** The result of one case. */
export interface HoldRow {
  name: string;
  size: number;
  statuses: string;
  cpuMs: number;
  wallMs: number;
  limitMs: number;
}

const rounds = 2;
const standardLimitMs = 100;

/** The longest hold of all rounds. */
export async function runCase(
  server: MeasuredServer,
  { name, limitMs = standardLimitMs, prepare, requests, watches = [] }: HoldCase,
): Promise<HoldRow> {
  await prepare?.(server);
  const row: HoldRow = { name, size: 0, statuses: '', cpuMs: 0, wallMs: 0, limitMs };
  const statuses = new Set<string>();
  const open = new AbortController();
  for (const path of watches) await server.watch(path, open.signal);
  for (let round = 0; round < rounds; round += 1) {
    for (const request of requests(round)) {
      const { result, hold } = await server.measure(() => server.request(request));
      row.size = Math.max(row.size, Buffer.byteLength(request.body ?? ''));
      row.cpuMs = Math.max(row.cpuMs, hold.cpuMs);
      row.wallMs = Math.max(row.wallMs, hold.wallMs);
      statuses.add(shownStatus(result));
    }
  }
  open.abort();
  return { ...row, statuses: [...statuses].join(' ') };
}

function shownStatus({ status, text }: { status: number; text: string }): string {
  return status < 500 ? String(status) : `${status} ${text.slice(0, 120)}`;
}

/** Runs shared setup of several cases once. */
export function once(work: (server: MeasuredServer) => Promise<void>): (server: MeasuredServer) => Promise<void> {
  let done: Promise<void> | undefined;
  return (server) => (done ??= work(server));
}
