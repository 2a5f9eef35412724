import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { adminUsername } from '#pkg/access/index';
import { checkOptions } from '../options/check-options.ts';
import { checkFileModes } from '../composition/file-modes.ts';
import { isPretty, newLogger } from '../process/logger.ts';
import type { LoadedOptions } from '../options/load-options.ts';
import type { Options } from '../options/option-table.ts';
import { readyMessage } from './ready-message.ts';
import { runUntilSignal } from '../process/run-until-signal.ts';
import { startPlatform, type Platform, type PlatformParts } from '../composition/start-platform.ts';
import { startWithWorkers } from '../workers/start-with-workers.ts';
import { workerCount } from '../workers/worker-count.ts';
import { urlOf } from '../process/browser-url.ts';
import { svcVersion } from '../process/svc-version.ts';

/** A file descriptor. */
const stdout = 1;

/**
 * Serves the content platform with the given parts in one process, or in several workers, until a signal; returns the
 * exit code. Throws OperatorError if it cannot start.
 */
export function serve(loaded: LoadedOptions, parts: PlatformParts): Promise<number> {
  const { options } = loaded;
  checkOptions(options);
  const log = newLogger(options);
  const start = async (): Promise<Platform> => {
    await checkFileModes(loaded, { runsPlugins: parts.controllers, log });
    const workers = workerCount(options);
    const several = workers === 1 ? undefined : await startWithWorkers(options, log, { ...parts, workers });
    const platform = several ?? (await startPlatform(options, log, parts));
    announce(platform, options, log);
    return platform;
  };
  return runUntilSignal(start, { log, drainTimeoutMs: options['svc.server.drain-timeout'] });
}

function announce(
  { address, tlsAddress, access, hasConsole, tokenFile, kubeconfig }: Platform,
  options: Options,
  log: Logger,
): void {
  const [host, accessHost] = [options['svc.server.host'], options['svc.access.host']];
  const url = urlOf(host, address);
  const urls = {
    url,
    ...(tlsAddress === undefined ? {} : { tlsUrl: urlOf(options['svc.server.tls.host'] ?? host, tlsAddress, 'https') }),
    ...(access === undefined ? {} : { accessUrl: urlOf(accessHost, access.address) }),
    ...(access?.tlsAddress === undefined
      ? {}
      : { accessTlsUrl: urlOf(options['svc.access.tls.host'] ?? accessHost, access.tlsAddress, 'https') }),
  };
  const consoleUrl = hasConsole ? { consoleUrl: `${url}/console/` } : {};
  const files = { tokenFile, ...(kubeconfig === undefined ? {} : { kubeconfig }) };
  log.info({ ...urls, ...consoleUrl, ...files, version: svcVersion() }, 'ready');
  if (!isPretty(options['svc.log.format'], stdout)) return;
  const passwordFile = join(options['svc.data.dir'], 'initial-admin-password');
  process.stdout.write(
    readyMessage({
      ...urls,
      ...consoleUrl,
      ...files,
      username: adminUsername,
      ...(existsSync(passwordFile) ? { passwordFile } : {}),
    }),
  );
}
