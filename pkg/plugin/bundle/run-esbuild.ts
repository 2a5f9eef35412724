import type * as Esbuild from 'esbuild';
import type { BuildFailure, BuildOptions, BuildResult, Loader, Message } from 'esbuild';
import { untilAborted, withinTime } from '#pkg/apimachinery/index';
import { PluginError } from '../plugin-error.ts';

/** The options of every bundle: one ESM file for this version of Node, independent of any configuration file. */
const options = {
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'silent',
  tsconfigRaw: '{}',
} as const satisfies BuildOptions;

/** An import of such a file is its text. */
export const textLoaders = { '.html': 'text', '.md': 'text', '.sql': 'text' } as const satisfies Record<string, Loader>;

export type Bundled = BuildResult<BuildOptions & typeof options>;

const maxMessages = 10;

/** How long esbuild may take to answer an empty transform. Milliseconds. */
const answerMs = 5000;
/** How often esbuild's process, which all bundles share, was replaced. */
let restarts = 0;

/**
 * Bundles with esbuild, which is loaded here only. If its process was killed or does not answer, a new process tries
 * once more.
 * @throws PluginError `BundleFailed`, each message with file, line and column; also after a minute
 */
export async function runEsbuild(given: BuildOptions, timeoutMs = 60_000): Promise<Bundled> {
  const esbuild = await import('esbuild');
  for (let isLast = false; ; isLast = true) {
    const known = restarts;
    try {
      return await attempt(esbuild, { ...options, ...given } as BuildOptions & typeof options, timeoutMs);
    } catch (error) {
      if (isBuildFailure(error)) throw bundleError(error);
      if ((await isAlive(esbuild, known, Math.min(timeoutMs, answerMs))) || isLast) throw error;
    }
  }
}

async function attempt(
  { context }: typeof Esbuild,
  all: BuildOptions & typeof options,
  timeoutMs: number,
): Promise<Bundled> {
  const making = context(all);
  try {
    return await within(
      timeoutMs,
      making.then((build) => build.rebuild()),
    );
  } finally {
    // Not awaited, because a stopped process does not answer.
    void making.then(async (build) => build.cancel().then(() => build.dispose())).catch(() => undefined);
  }
}

/**
 * Whether esbuild's process still works, so that the bundle caused the failure. If not, the process is stopped once,
 * and the next call starts another.
 */
async function isAlive({ transform, stop }: typeof Esbuild, known: number, limitMs: number): Promise<boolean> {
  if (restarts !== known) return false;
  try {
    await within(limitMs, transform(''));
    return true;
  } catch {
    if (restarts === known) {
      restarts += 1;
      await stop();
    }
    return false;
  }
}

function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  const message = `bundling took longer than ${timeoutMs / 1000} s`;
  const timeoutError = (): Error => new PluginError({ reason: 'BundleFailed', message });
  return withinTime({ timeoutMs, timeoutError }, (limit) => untilAborted(work, limit));
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return typeof error === 'object' && error !== null && Array.isArray((error as Partial<BuildFailure>).errors);
}

function bundleError({ errors }: BuildFailure): PluginError {
  const more = errors.length - maxMessages;
  const message = errors.slice(0, maxMessages).map(textOf).join('\n') + (more > 0 ? `\nand ${more} more` : '');
  return new PluginError({ reason: 'BundleFailed', message });
}

/** `index.ts:3:14: Expected ";" but found "x"`: lines and columns from 1. */
function textOf({ text, location, notes, pluginName }: Message): string {
  // The notes of our own errors say only that they come from our plugin.
  const hint =
    pluginName !== ''
      ? ''
      : notes
          .map((note) => `; ${note.text}`)
          .join('')
          .slice(0, 500);
  return location === null
    ? `${text}${hint}`
    : `${location.file}:${location.line}:${location.column + 1}: ${text}${hint}`;
}
