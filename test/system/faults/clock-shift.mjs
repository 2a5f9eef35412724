/**
 * Loaded into a server before its first line (`--import`): its wall clock is ahead by what the file named in
 * FAULTS_CLOCK says, in milliseconds, looked up ten times a second. Timers and performance.now() go on as they were, as
 * on a machine whose clock an administrator sets.
 */
import { readFileSync } from 'node:fs';

const everyMs = 100;
const file = process.env.FAULTS_CLOCK;
const RealDate = Date;
const realNow = Date.now;
let aheadMs = 0;

function look() {
  try {
    aheadMs = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    aheadMs = 0;
  }
}

if (file !== undefined) {
  look();
  setInterval(look, everyMs).unref();
  RealDate.now = () => realNow() + aheadMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [RealDate.now()] : args, newTarget),
    apply: () => new RealDate(RealDate.now()).toString(),
  });
  // What a Date made without the Proxy says of itself.
  RealDate.prototype.constructor = globalThis.Date;
}
