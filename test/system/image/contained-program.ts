import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export interface ContainedOptions {
  /** The image's files, which are not changed. */
  readonly root: string;
  /** Mounted at /mnt, read-only. */
  readonly mounted: string;
  readonly entrypoint: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
}

/**
 * Like a container engine: a read-only root, /tmp and /data in memory, no privileges. Each exec replaces the previous
 * process, so that signals reach the program.
 */
const script = `set -e
root=$1 mounted=$2 folder=$3
shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mount -t tmpfs -o mode=0700,uid=10001,gid=10001 data "$root/data"
mount --bind "$mounted" "$root/mnt"
mount -o remount,bind,ro "$root/mnt"
exec chroot --userspec=10001:10001 --groups=10001 "$root" env -i -C "$folder" "$@"`;

/** A program in the image. Needs root on Linux, and the right to mount. */
export class ContainedProgram {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #output = '';

  constructor({ root, mounted, entrypoint, environment, workingDirectory }: ContainedOptions, args: readonly string[]) {
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    this.#child = spawn(
      'unshare',
      [
        '--mount',
        '--propagation',
        'private',
        'sh',
        '-c',
        script,
        'sh',
        root,
        mounted,
        workingDirectory,
        ...variables,
        ...entrypoint,
        ...args,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    this.#ended = once(this.#child, 'close').then(([code]) => code as number | null);
  }

  /** Output of both streams. */
  get output(): string {
    return this.#output;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Its exit code; null if a signal ended it. */
  ended(): Promise<number | null> {
    return this.#ended;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.hasEnded) this.#child.kill(signal);
  }
}
