import { join } from 'node:path';
import type { Logger } from 'pino';
import { adminUsername } from '#pkg/access/index';
import { checkOptions } from './check-options.ts';
import { newLogger } from './logger.ts';
import type { LoadedOptions } from './options/load-options.ts';
import type { Options } from './options/option-table.ts';
import { runUntilSignal } from './run-until-signal.ts';
import { startPlatform, type Platform, type PlatformParts } from './start-platform.ts';
import { urlOf } from './url-of.ts';

/** Serves the content platform, and what goes with it in one process, until a signal; returns the exit code. Throws OperatorError where it cannot start. */
export function serve({ options }: LoadedOptions, parts: PlatformParts): Promise<number> {
  checkOptions(options);
  const log = newLogger(options['svc.log.level']);
  const start = async (): Promise<Platform> => {
    const platform = await startPlatform(options, log, parts);
    announce(platform, options, log);
    return platform;
  };
  return runUntilSignal(start, { log, drainTimeoutMs: options['svc.server.drain-timeout'] });
}

function announce({ address, accessAddress, tokenFile }: Platform, options: Options, log: Logger): void {
  const url = urlOf(options['svc.server.host'], address);
  const accessUrl = accessAddress === undefined ? undefined : urlOf(options['svc.access.host'], accessAddress);
  log.info({ url, ...(accessUrl === undefined ? {} : { accessUrl }), tokenFile }, 'ready');
  if (!process.stdout.isTTY) return;
  process.stdout.write(`\n  Ready: ${url}   token: ${tokenFile}   documentation: ${url}/docs   (Ctrl-C stops)\n`);
  process.stdout.write(accessUrl === undefined ? '\n' : `  Access: ${accessUrl}   user: ${adminUsername}   password: in ${join(options['svc.data.dir'], 'initial-admin-password')}\n\n`);
}
