import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Log, ReconcileRequest, Source } from '#pkg/runtime/index';
import { manifestFile, type PluginManifest } from '../../manifest/manifest.ts';
import { readManifest } from '../../manifest/read-manifest.ts';
import { isPluginError, PluginError } from '../../plugin-error.ts';
import { fingerprintFolder, type FolderFingerprint } from './folder-fingerprint.ts';
import { readPluginName } from './read-plugin-name.ts';

export interface PluginFolderOptions {
  /** The parent folder of all plugins. It need not exist. */
  dir: string;
  log: Log;
  /** Poll interval. Milliseconds, default 2 000. */
  intervalMs?: number;
  /**
   * How long the host waits for the files of a folder to stop changing before it judges them anyway. Milliseconds,
   * default 30 000.
   */
  settleTimeoutMs?: number;
}

/** A plugin as read from its folder. */
export interface FoundPlugin {
  readonly name: string;
  readonly folder: string;
  /** Fingerprint of the files that were read. */
  readonly fingerprint: string;
  /** Absent if the plugin is invalid. */
  readonly manifest?: PluginManifest;
  /** Why the plugin is invalid. */
  readonly problem?: PluginError;
}

interface Seen {
  fingerprint: FolderFingerprint;
  /** Undefined until its files have stopped changing. */
  settled: FoundPlugin | undefined;
  /** The name in the current manifest, before the files are settled. */
  name: string | undefined;
  /** Since when its files are changing, by `performance.now()`. */
  since: number;
  /** Since when they are as they are now, by `performance.now()`. */
  sameSince: number;
}

/** The name of a folder without a readable plugin name. */
const nameless = '';
/** Timers and file systems round: a poll at the very moment would come too early. */
const roundingMs = 5;

/**
 * Polls the folder of plugins, every two seconds by default. It reads a folder once its files have not changed for one
 * interval, so that a folder that is still being copied does not count as broken; it looks again at that very moment.
 * Enqueues a plugin whenever its folder appears, changes or disappears.
 *
 * The system's own notices of changes (`fs.watch`) would bring little: files must rest for an interval in any case. And
 * they are missing where folders are mounted from elsewhere, and limited in number.
 */
export class PluginFolder implements Source {
  readonly #options: Required<PluginFolderOptions>;
  readonly #folders = new Map<string, Seen>();
  /** The folder of each plugin name. */
  readonly #holders = new Map<string, string>();
  /** The last warning about each folder, so that it is logged once. */
  readonly #lastWarnings = new Map<string, string>();
  readonly #stopping = new AbortController();
  #enqueue: (request: ReconcileRequest) => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #scanning: Promise<void> = Promise.resolve();
  /** The error of the last poll of the whole folder. */
  #problem: unknown;

  constructor(options: PluginFolderOptions) {
    this.#options = { intervalMs: 2000, settleTimeoutMs: 30_000, ...options };
  }

  /**
   * Undefined without such a folder, or before it is settled. Of two folders with one plugin name the one that had it
   * first keeps it until it disappears. At the start it is the folder of that name, or else the first one.
   */
  find(name: string): FoundPlugin | undefined {
    const all = this.#byFolder().flatMap(([, { settled }]) => (settled?.name === name ? [settled] : []));
    const found =
      all.find(({ folder }) => folder === this.#holders.get(name)) ??
      all.find(({ folder }) => basename(folder) === name) ??
      all[0];
    if (found === undefined) this.#holders.delete(name);
    else this.#holders.set(name, found.folder);
    return found;
  }

  /** Whether a folder that is not settled yet may contain the plugin. */
  mayBeFound(name: string): boolean {
    return Array.from(this.#folders.values()).some(
      (seen) => seen.settled === undefined && (seen.name ?? name) === name,
    );
  }

  /** The names of all plugins whose files are settled. */
  get names(): string[] {
    return Array.from(this.#folders.values()).flatMap(({ settled }) =>
      settled === undefined || settled.name === nameless ? [] : [settled.name],
    );
  }

  get isEmpty(): boolean {
    return this.#folders.size === 0;
  }

  get intervalMs(): number {
    return this.#options.intervalMs;
  }

  async start(enqueue: (request: ReconcileRequest) => void): Promise<boolean> {
    this.#enqueue = enqueue;
    await this.#run();
    return !this.#stopping.signal.aborted;
  }

  problem(): unknown {
    return this.#problem;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#scanning;
  }

  #byFolder(): [string, Seen][] {
    return Array.from(this.#folders).toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    this.#scanning = this.#scan().then(
      () => void (this.#problem = undefined),
      (error: unknown) => {
        this.#problem = error;
        this.#complain(this.#options.dir, 'the folder of plugins could not be read', error);
      },
    );
    await this.#scanning;
    if (!this.#stopping.signal.aborted) this.#timer = setTimeout(() => void this.#run(), this.#pauseMs());
  }

  /** Until the next poll: an interval, or less if files that have changed will have rested for that long. */
  #pauseMs(): number {
    const { intervalMs } = this.#options;
    const rested = Array.from(this.#folders.values(), ({ fingerprint, settled, sameSince }) =>
      settled?.fingerprint === fingerprint.text ? 0 : performance.now() - sameSince,
    );
    return Math.min(intervalMs, Math.max(0, intervalMs - Math.max(0, ...rested)) + roundingMs);
  }

  async #scan(): Promise<void> {
    const folders = await this.#list();
    for (const [folder, { settled }] of this.#folders) {
      if (folders.includes(folder)) continue;
      this.#folders.delete(folder);
      this.#lastWarnings.delete(folder);
      if (settled !== undefined) this.#ask(settled.name);
    }
    for (const folder of folders) {
      if (this.#stopping.signal.aborted) return;
      await this.#look(folder).catch((error: NodeJS.ErrnoException) => {
        // A file disappeared during the poll: the next poll sees the result.
        if (error.code !== 'ENOENT') this.#complain(folder, 'the folder of a plugin could not be read', error);
      });
    }
    this.#warnAboutDuplicates();
  }

  async #list(): Promise<string[]> {
    const { dir } = this.#options;
    let names: string[];
    try {
      names = await readdir(dir);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return [];
    }
    const paths = names
      .filter((name) => !name.startsWith('.') && name !== 'node_modules')
      .map((name) => join(dir, name));
    // A symbolic link to a folder counts as a folder.
    const areFolders = await Promise.all(
      paths.map(async (path) => (await stat(path).catch(() => undefined))?.isDirectory() === true),
    );
    return paths.filter((_path, i) => areFolders[i]).toSorted();
  }

  async #look(folder: string): Promise<void> {
    const before = this.#folders.get(folder);
    const problem = { caught: undefined as PluginError | undefined };
    const fingerprint = await fingerprintFolder(folder).catch((error: unknown): FolderFingerprint => {
      if (!isPluginError(error)) throw error;
      problem.caught = error;
      return { text: error.message, changed: 0 };
    });
    const isSame = before?.fingerprint.text === fingerprint.text;
    if (isSame && before?.settled?.fingerprint === fingerprint.text) return;
    const now = performance.now();
    const age = Date.now() - fingerprint.changed;
    const { intervalMs } = this.#options;
    const sameSince = isSame ? before.sameSince : now - Math.max(0, age);
    // A file of the future is old: another clock has set its time.
    const isSettled = now - sameSince >= intervalMs || age < -intervalMs;
    // Since when it differs from what was read last.
    const since = before === undefined || before.settled?.fingerprint === before.fingerprint.text ? now : before.since;
    const isDue = isSettled || now - since >= this.#options.settleTimeoutMs;
    const judged = isDue
      ? await this.#judge(folder, fingerprint.text, { tooLarge: problem.caught, before: before?.settled })
      : before?.settled;
    this.#folders.set(folder, {
      fingerprint,
      settled: judged,
      since: isDue ? now : since,
      sameSince,
      name: judged === undefined ? await readPluginName(folder) : undefined,
    });
    if (!isDue) return;
    if (before?.settled !== undefined && before.settled.name !== judged?.name) this.#ask(before.settled.name);
    if (judged !== undefined) this.#ask(judged.name);
  }

  async #judge(
    folder: string,
    fingerprint: string,
    { tooLarge, before }: { tooLarge: PluginError | undefined; before: FoundPlugin | undefined },
  ): Promise<FoundPlugin> {
    try {
      if (tooLarge !== undefined) throw tooLarge;
      const manifest = await readManifest(folder);
      return { name: manifest.name, folder, fingerprint, manifest };
    } catch (error) {
      if (!isPluginError(error)) throw error;
      // A folder whose manifest can no longer be read keeps its plugin name.
      const last =
        (await stat(join(folder, manifestFile)).catch(() => undefined)) === undefined ? undefined : before?.name;
      const name = (await readPluginName(folder)) ?? last ?? nameless;
      if (name === nameless) this.#complain(folder, 'a folder is not a plugin', error);
      return { name, folder, fingerprint, problem: error };
    }
  }

  #ask(name: string): void {
    if (name !== nameless && !this.#stopping.signal.aborted) this.#enqueue({ namespace: '', name });
  }

  #warnAboutDuplicates(): void {
    for (const [folder, { settled }] of this.#byFolder()) {
      if (settled === undefined || settled.name === nameless) continue;
      const holder = this.find(settled.name)!.folder;
      if (holder !== folder)
        this.#complain(folder, 'ignored a folder', new Error(`the plugin ${settled.name} is in ${holder} already`));
    }
  }

  #complain(folder: string, what: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    if (this.#lastWarnings.get(folder) === message) return;
    this.#lastWarnings.set(folder, message);
    this.#options.log.warn({ folder, reason: message }, what);
  }
}
