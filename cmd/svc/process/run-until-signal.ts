import type { LevelWithSilent, Logger } from 'pino';
import { setLogLevel } from '#pkg/http/index';
import { threadCount } from '#pkg/plugin/index';

/** With npm, Ctrl-C reaches the program twice: from the terminal and from npm. Milliseconds. */
const sameSignalMs = 500;

export interface Running {
  /** Resolves with the reason if the process must be restarted. */
  readonly failed?: Promise<string>;
  /** True if everything stopped without an error. */
  stop(): Promise<boolean>;
}

/**
 * Starts, waits for SIGTERM, SIGINT or a failure, stops, and returns the exit code: 1 after a failure. A signal during
 * the start takes effect after it. A second signal, a stop that takes longer than the drain timeout, or an uncaught
 * error ends the process with 1. If a plugin's thread might block the exit, the process kills itself with SIGKILL.
 * SIGUSR2 sets the log level to `debug`, and the next one sets it back; not in a worker, whose parent does it for all.
 */
export async function runUntilSignal(
  start: () => Promise<Running>,
  {
    log,
    drainTimeoutMs,
    stopAsked,
  }: {
    log: Logger;
    drainTimeoutMs: number;
    /** In a worker: resolves when its parent wants it to stop. A signal stops it, too. */
    stopAsked?: Promise<void>;
  },
): Promise<number> {
  const abandon = (details: object, why: string): never => {
    log.fatal(details, why);
    killIfThreadsRemain(log);
    process.exit(1);
  };
  process.on('unhandledRejection', (error) => abandon({ err: error }, 'unhandled promise rejection'));
  process.on('uncaughtException', (error) => abandon({ err: error }, 'uncaught exception'));
  const configured = log.level as LevelWithSilent;
  process.on('SIGUSR2', (signal) => {
    if (stopAsked === undefined) setLogLevel(log, log.level === configured ? 'debug' : configured, { signal });
  });
  let limit: NodeJS.Timeout | undefined;
  const limitStop = (): void =>
    void (limit ??= setTimeout(
      () => abandon({ drainTimeoutMs }, 'the stop took longer than svc.server.drain-timeout'),
      drainTimeoutMs,
    ).unref());
  const signalled = new Promise<void>((resolve) => {
    let first: number | undefined;
    const onSignal = (signal: NodeJS.Signals): void => {
      const now = performance.now();
      if (first !== undefined) {
        if (now - first >= sameSignalMs) abandon({ signal }, 'stopped at once by a second signal');
        return;
      }
      first = now;
      log.info({ signal, drainTimeoutMs }, 'stopping');
      limitStop();
      resolve();
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    const stopWhenAsked = async (): Promise<void> => {
      await stopAsked;
      if (first === undefined) log.info({ drainTimeoutMs }, 'stopping');
      limitStop();
      resolve();
    };
    if (stopAsked !== undefined) void stopWhenAsked();
  });
  const running = await start();
  const reason = await Promise.race([signalled, ...(running.failed === undefined ? [] : [running.failed])]);
  if (reason !== undefined) {
    log.fatal({}, reason);
    limitStop();
  }
  const isClean = await running.stop();
  clearTimeout(limit);
  log.info({}, 'stopped');
  killIfThreadsRemain(log);
  return isClean && reason === undefined ? 0 : 1;
}

/**
 * An exit waits for all threads, and a thread in a system call cannot be terminated. Call it last, because other exit
 * handlers must run before.
 */
export function killIfThreadsRemain(log: Logger): void {
  process.once('exit', () => {
    if (threadCount() === 0) return;
    log.warn({ threads: threadCount() }, 'killing this process, because threads of plugins may block its exit');
    process.kill(process.pid, 'SIGKILL');
  });
}
