/**
 * Loaded into the server by `--import`: sends a message whenever the event loop was blocked, `{ began, ended, cpu }` in
 * milliseconds.
 *
 * A timer of a few milliseconds fires once in each turn of the loop; the processor time between two of its calls is
 * that of the longest turn, plus one interval at most. Processor time, because on a busy machine the duration of a turn
 * is arbitrary. The process's own includes its helper threads, and the thread's own has a resolution of hundredths of a
 * second: the smaller one counts.
 */
import { readFileSync } from 'node:fs';

const intervalMs = 5;
const reportMs = 60;
const tickMs = 10;

let beat = now();
let usage = process.cpuUsage();
let ticks = threadTicks();

setInterval(() => {
  const spent = process.cpuUsage(usage);
  const cpu = (spent.user + spent.system) / 1000;
  const ended = now();
  if (cpu > reportMs) {
    const thread = (threadTicks() - ticks + 1) * tickMs;
    if (Math.min(cpu, thread) > reportMs) process.send({ began: beat, ended, cpu: Math.min(cpu, thread) });
  }
  beat = now();
  usage = process.cpuUsage();
  ticks = threadTicks();
}, intervalMs).unref();
process.channel.unref();

function now() {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Processor time of the main thread: user and system, in hundredths of a second. Source: proc(5), stat. */
function threadTicks() {
  const text = readFileSync('/proc/thread-self/stat', 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
