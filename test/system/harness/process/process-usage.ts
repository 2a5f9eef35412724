import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** The processes whose processor time counts next to the loader's. */
export interface MeasuredProcesses {
  server?: number;
  postmaster?: number;
}

/** Milliseconds. */
export interface CpuTime {
  server: number;
  postgres: number;
}

/** The kernel's clock tick in /proc, on every Linux that Node supports. */
const msPerTick = 10;

/** Processor time so far. PostgreSQL's includes the postmaster, its children, and ended children. */
export function readCpuTime({ server, postmaster }: MeasuredProcesses): CpuTime {
  return {
    server: server === undefined ? 0 : (readStat(server)?.own ?? 0) * msPerTick,
    postgres: postmaster === undefined ? 0 : postgresTicks(postmaster) * msPerTick,
  };
}

/** Process ids of a postmaster and its children. */
export function postgresProcesses(postmaster: number): number[] {
  const numbers = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return [postmaster, ...numbers.filter((pid) => readStat(pid)?.parent === postmaster)];
}

/** Memory in MB: resident for a single process, proportional for several, because they share buffers. */
export function readMemory({ server, postmaster }: MeasuredProcesses): { server: number; postgres: number } {
  const kilobytes = (pid: number, file: string, key: string): number =>
    Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(readProc(pid, file) ?? '')?.[1] ?? 0);
  const shares =
    postmaster === undefined ? [] : postgresProcesses(postmaster).map((pid) => kilobytes(pid, 'smaps_rollup', 'Pss'));
  return {
    server: server === undefined ? 0 : kilobytes(server, 'status', 'VmRSS') / 1024,
    postgres: shares.reduce((sum, share) => sum + share, 0) / 1024,
  };
}

/** Peak resident memory since `forgetPeak`, in MB. */
export function readPeak(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readProc(pid, 'status') ?? '')?.[1] ?? 0) / 1024;
}

/** Source: proc(5), clear_refs. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

interface ProcessStat {
  parent: number;
  own: number;
  endedChildren: number;
}

function postgresTicks(postmaster: number): number {
  const ended = readStat(postmaster)?.endedChildren ?? 0;
  return postgresProcesses(postmaster).reduce((sum, pid) => sum + (readStat(pid)?.own ?? 0), ended);
}

/** Source: proc(5), /proc/pid/stat; the fields after the name, which may hold spaces and parentheses. */
function readStat(pid: number): ProcessStat | undefined {
  const text = readProc(pid, 'stat');
  if (text === undefined) return undefined;
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [, parent, , , , , , , , , , user, system, endedUser, endedSystem] = fields;
  return {
    parent: parent ?? 0,
    own: (user ?? 0) + (system ?? 0),
    endedChildren: (endedUser ?? 0) + (endedSystem ?? 0),
  };
}

/** Undefined if the process has ended. */
function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
