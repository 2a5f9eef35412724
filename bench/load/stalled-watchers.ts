import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { serveJobs } from '../../test/system/harness/process/worker-process.ts';

/**
 * Watchers that send a request and then never read: neither events nor the disconnect, which only the kernel's tables
 * show.
 */
export type StallJob =
  | { type: 'open'; port: number; authorization: string; path: string; watchers: number }
  /** Returns when each was disconnected, in seconds from now; omits those still connected after `seconds`. */
  | { type: 'wait'; seconds: number };

/** Reading the kernel's table takes some milliseconds. */
const lookEveryMs = 250;
/** Source: proc_net_tcp in the kernel's documentation. */
const established = '01';
let sockets: Socket[] = [];
/** Ports of both ends, the server's first, in the format of /proc/net/tcp. */
let ends: string[] = [];

async function work(job: StallJob): Promise<number[]> {
  if (job.type === 'wait') return cutOffs(job.seconds);
  sockets = await Promise.all(Array.from({ length: job.watchers }, () => open(job)));
  ends = sockets.map((socket) => `${end(job.port)} ${end(socket.localPort ?? 0)} `);
  return [];
}

function open({ port, path, authorization }: { port: number; path: string; authorization: string }): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.on('error', () => undefined);
      socket.pause();
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}\r\n\r\n`, () => resolve(socket));
    });
  });
}

function end(port: number): string {
  return `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
}

async function cutOffs(seconds: number): Promise<number[]> {
  const begin = performance.now();
  const found: number[] = [];
  while (ends.length > 0 && performance.now() - begin < seconds * 1000) {
    const table = readFileSync('/proc/net/tcp', 'latin1');
    const still = ends.filter((each) => table.includes(`${each}${established}`));
    for (let i = still.length; i < ends.length; i += 1) found.push((performance.now() - begin) / 1000);
    ends = still;
    await delay(lookEveryMs);
  }
  for (const socket of sockets) socket.destroy();
  return found;
}

serveJobs(work);
