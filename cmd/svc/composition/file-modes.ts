import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Stats } from 'node:fs';
import type { Logger } from 'pino';
import { OperatorError } from '../options/operator-error.ts';
import type { LoadedOptions } from '../options/load-options.ts';
import type { Options } from '../options/option-table.ts';

const readableByOthers = 0o004;
const writableByOthers = 0o002;
const openToOthers = 0o007;

export interface FileModeParts {
  /** Whether this process runs plugins. */
  runsPlugins: boolean;
  log: Logger;
  /** Maximum number of entries to check in a folder of code. Default 20 000. */
  mostEntries?: number;
}

/**
 * Checks the file modes of what a server reads at its start. Throws OperatorError for a secret of the data folder that
 * others can read, and for plugin code that others can write. Warns about files that the operator provides, which an
 * orchestrator may have mounted: a secret of this program's user that others can read, and any file that others can
 * write. `secret-key` is checked when it is read.
 */
export async function checkFileModes(
  { options, configFiles }: LoadedOptions,
  { runsPlugins, log, mostEntries = 20_000 }: FileModeParts,
): Promise<void> {
  const dataDir = resolve(options['svc.data.dir']);
  for (const name of ['admin-token', 'initial-admin-password', 'kubeconfig', 'tls/ca.key', 'tls/server.key'])
    await refuseOpenSecret(join(dataDir, name));
  if (runsPlugins)
    for (const folder of codeFolders(options, dataDir)) await refuseForeignCode(folder, { mostEntries, log });
  const secrets = [
    ...secretFiles(options),
    ...configFiles.filter(({ holdsSecret }) => holdsSecret).map(({ path }) => path),
  ];
  for (const path of secrets)
    await warnOfMode(
      path,
      {
        bits: readableByOthers,
        isOwnOnly: true,
        what: 'others can read this file, which holds a secret; make it 0600, or 0640 if its group must read it',
      },
      log,
    );
  for (const path of trustedPaths(options, { dataDir, configFiles, secrets }))
    await warnOfMode(
      path,
      {
        bits: writableByOthers,
        isOwnOnly: false,
        what: 'others can write this, and the server trusts its content; remove that permission with chmod o-w',
      },
      log,
    );
}

function codeFolders(options: Options, dataDir: string): string[] {
  return [resolve(options['svc.plugins.dir'] ?? join(dataDir, 'plugins')), join(dataDir, 'plugin-bundles')];
}

/** Secret files named by options; `svc.security.key-file` is checked when it is read. */
function secretFiles(options: Options): string[] {
  return [
    options['svc.tls.key-file'],
    options['svc.access.token-file'],
    options['svc.controllers.token-file'],
    options['svc.metrics.token-file'],
    options['svc.database.url-file'],
    options['svc.security.initial-admin-token-file'],
    options['svc.security.controller-manager-token-file'],
    options['svc.security.access-server-token-file'],
    options['svc.security.initial-admin-password-file'],
    databaseFile(options, 'sslkey'),
  ].filter((path) => path !== undefined);
}

function trustedPaths(
  options: Options,
  {
    dataDir,
    configFiles,
    secrets,
  }: { dataDir: string; configFiles: LoadedOptions['configFiles']; secrets: readonly string[] },
): Set<string> {
  const named = [
    options['svc.tls.cert-file'],
    options['svc.access.ca-file'],
    options['svc.controllers.ca-file'],
    options['svc.database.ca-file'],
    databaseFile(options, 'sslrootcert'),
    databaseFile(options, 'sslcert'),
  ];
  const config = configFiles.flatMap(({ path }) => [dirname(path), path]);
  return new Set([dataDir, join(dataDir, 'tls'), ...config, ...named.filter((path) => path !== undefined), ...secrets]);
}

function databaseFile(options: Options, parameter: 'sslkey' | 'sslcert' | 'sslrootcert'): string | undefined {
  // `URL` does not read one that names several hosts.
  const [, parameters = ''] = options['svc.database.url']?.split(/\?(.*)/s) ?? [];
  const path = new URLSearchParams(parameters).get(parameter);
  return path === null || path === '' ? undefined : path;
}

async function refuseOpenSecret(path: string): Promise<void> {
  const stats = await statOf(path);
  if (stats === undefined || !stats.isFile() || (stats.mode & openToOthers) === 0) return;
  throw new OperatorError(
    `The file ${path} holds a secret and is open to others (mode ${modeOf(stats)}); make it 0600, or 0640 where its group must read it.`,
  );
}

/** Checks the folder, its content, and the targets of links in it, because a plugin may be a link. */
async function refuseForeignCode(
  folder: string,
  { mostEntries, log }: Required<Pick<FileModeParts, 'mostEntries' | 'log'>>,
): Promise<void> {
  const waiting = [{ path: folder, root: folder }];
  const seen = new Set<string>();
  for (let count = 0; waiting.length > 0; count += 1) {
    if (count === mostEntries)
      return log.warn(
        { path: folder, mostEntries },
        'the folder has more entries than are checked: other users may be able to write the rest of this code',
      );
    const { path, root } = waiting.pop()!;
    const isLink = path !== folder && (await statOf(path, lstat))?.isSymbolicLink() === true;
    const target = isLink ? await realpath(path).catch(() => undefined) : path;
    const stats = target === undefined ? undefined : await statOf(target);
    if (target === undefined || stats === undefined || seen.has(`${stats.dev} ${stats.ino}`)) continue;
    seen.add(`${stats.dev} ${stats.ino}`);
    const from = isLink ? target : root;
    if ((stats.mode & writableByOthers) !== 0)
      throw new OperatorError(
        `Others can write ${target} (mode ${modeOf(stats)}), which holds code that this program runs; remove that permission with chmod -R o-w ${from}.`,
      );
    if (stats.isDirectory())
      waiting.push(...(await namesIn(target)).map((name) => ({ path: join(target, name), root: from })));
  }
}

/** With `isOwnOnly` files of other users are skipped: group access may be how this program reads them. */
async function warnOfMode(
  path: string,
  { bits, isOwnOnly, what }: { bits: number; isOwnOnly: boolean; what: string },
  log: Logger,
): Promise<void> {
  const stats = await statOf(path);
  if (stats === undefined || (stats.mode & bits) === 0) return;
  const user = process.getuid?.();
  if (isOwnOnly && stats.uid !== user) return;
  // An orchestrator creates an empty folder for one container like this; no user here could change its mode.
  if (stats.isDirectory() && stats.uid === 0 && user !== 0) return;
  log.warn({ path, mode: modeOf(stats) }, what);
}

/** The code that reads the file reports a failure. */
async function statOf(path: string, look: (path: string) => Promise<Stats> = stat): Promise<Stats | undefined> {
  try {
    return await look(path);
  } catch {
    return undefined;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch {
    return [];
  }
}

const modeOf = ({ mode }: Stats): string => (mode & 0o777).toString(8).padStart(4, '0');
