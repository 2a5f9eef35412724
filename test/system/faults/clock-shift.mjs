/**
 * Loaded into a server first (`--import`): its wall clock is ahead by the milliseconds in the file FAULTS_CLOCK, read
 * ten times a second. Timers and performance.now() are not affected, as when an administrator sets a machine's clock.
 */
import { readFileSync } from 'node:fs';

const everyMs = 100;
const file = process.env.FAULTS_CLOCK;
const RealDate = Date;
const realNow = Date.now;
let aheadMs = 0;

function readOffset() {
  try {
    aheadMs = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    aheadMs = 0;
  }
}

if (file !== undefined) {
  readOffset();
  setInterval(readOffset, everyMs).unref();
  RealDate.now = () => realNow() + aheadMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [RealDate.now()] : args, newTarget),
    apply: () => new RealDate(RealDate.now()).toString(),
  });
  // The constructor of Dates that were created without the Proxy.
  RealDate.prototype.constructor = globalThis.Date;
}
