// Preloaded into the measured server: reports to its parent how long single turns of the event loop took.
import { readFileSync } from 'node:fs';

/**
 * Processor time of this thread in nanoseconds; undefined if the kernel does not report it. Source: proc(5), schedstat.
 */
function threadTime() {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ', 1)[0]);
  } catch {
    return undefined;
  }
}

const longest = { cpuMs: 0, wallMs: 0 };
let isMeasuring = false;
let cpuBefore;
let wallBefore = 0;

/** Runs once in each turn, and keeps the loop from sleeping: the time between two calls is one turn. */
function turn() {
  if (!isMeasuring) return;
  const cpu = threadTime();
  const wall = performance.now();
  if (wallBefore !== 0) {
    const wallMs = wall - wallBefore;
    longest.wallMs = Math.max(longest.wallMs, wallMs);
    // Without a processor clock it uses wall time.
    longest.cpuMs = Math.max(longest.cpuMs, cpu === undefined ? wallMs : (cpu - cpuBefore) / 1e6);
  }
  cpuBefore = cpu;
  wallBefore = wall;
  setImmediate(turn);
}

process.on('message', (message) => {
  if (message === 'begin') {
    Object.assign(longest, { cpuMs: 0, wallMs: 0 });
    wallBefore = 0;
    isMeasuring = true;
    setImmediate(turn);
    process.send(longest);
  } else if (message === 'end') {
    isMeasuring = false;
    process.send(longest);
  }
});
process.channel.unref();
