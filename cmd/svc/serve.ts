import type { Logger } from 'pino';
import { checkOptions } from './check-options.ts';
import { newLogger } from './logger.ts';
import type { LoadedOptions } from './options/load-options.ts';
import { runUntilSignal } from './run-until-signal.ts';
import { startPlatform, type Platform, type PlatformParts } from './start-platform.ts';

/** Serves the content platform until a signal; returns the exit code. Throws OperatorError where it cannot start. */
export function serve({ options, forLater }: LoadedOptions, parts: PlatformParts): Promise<number> {
  checkOptions(options);
  const log = newLogger(options['svc.log.level']);
  for (const name of forLater) log.info({ option: name }, 'this option is understood, and takes effect with a later release');
  const start = async (): Promise<Platform> => {
    const platform = await startPlatform(options, log, parts);
    announce(platform, options['svc.server.host'], log);
    return platform;
  };
  return runUntilSignal(start, { log, drainTimeoutMs: options['svc.server.drain-timeout'] });
}

function announce({ address, tokenFile }: Platform, host: string, log: Logger): void {
  const url = `http://${visitable(host)}:${address.port}`;
  log.info({ url, tokenFile }, 'ready');
  if (!process.stdout.isTTY) return;
  process.stdout.write(`\n  Ready: ${url}   token: ${tokenFile}   documentation: ${url}/docs   (Ctrl-C stops)\n\n`);
}

/** What to type into a browser for an address to listen on. */
function visitable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
