import { newLogger } from '../process/logger.ts';
import { killIfThreadsRemain, runUntilSignal, type Running } from '../process/run-until-signal.ts';
import { explainStartFailure } from '../process/start-failure.ts';
import { startPlatform } from '../composition/start-platform.ts';
import { ParentLink } from './parent-link.ts';

/** Runs one worker of a server: an API server with what the parent process orders. Returns the exit code. */
export async function runWorker(): Promise<number> {
  const link = new ParentLink();
  const order = await link.order;
  const { worker, options, parts } = order;
  const log = newLogger({ ...options, 'svc.log.level': order.level }, 1, worker);
  link.shareLevel(log);
  // If the parent is gone, node:cluster ends this process.
  killIfThreadsRemain(log);
  const start = async (): Promise<Running> => {
    const platform = await startPlatform(options, log, {
      ...parts,
      environment: process.env,
      worker: link.context(order),
    });
    link.serving(platform);
    return platform;
  };
  try {
    const drainTimeoutMs = options['svc.server.drain-timeout'];
    return await runUntilSignal(start, { log, drainTimeoutMs, stopAsked: link.stopAsked });
  } catch (error) {
    const stack = error instanceof Error ? error.stack : String(error);
    await link.failed(explainStartFailure(error) ?? `The start failed, which is a fault of this program:\n${stack}`);
    return 1;
  }
}
