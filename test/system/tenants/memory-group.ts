import { existsSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const root = '/sys/fs/cgroup';

/** The files of one version of control groups. */
interface GroupForm {
  folder: string;
  limit: string;
  /** Contains the number of kills in the line `oom_kill `. */
  kills: string;
}

const forms: Record<'v1' | 'v2', GroupForm> = {
  v1: { folder: join(root, 'memory'), limit: 'memory.limit_in_bytes', kills: 'memory.oom_control' },
  v2: { folder: root, limit: 'memory.max', kills: 'memory.events' },
};

/** A control group with a memory limit, for one process. */
export class MemoryGroup {
  /** A process that writes its id there joins the group, with its children. */
  readonly joinFile: string;
  readonly #folder: string;
  readonly #form: GroupForm;

  /** Throws an Error with the reason if it cannot create one: needs root, and a writable cgroup file system. */
  static async create(name: string, limitBytes: number): Promise<MemoryGroup> {
    const isSecond = existsSync(join(root, 'cgroup.controllers'));
    const form = forms[isSecond ? 'v2' : 'v1'];
    const folder = join(form.folder, name);
    if (isSecond) await writeFile(join(root, 'cgroup.subtree_control'), '+memory');
    await mkdir(folder);
    const group = new MemoryGroup(folder, form);
    try {
      await writeFile(join(folder, form.limit), String(limitBytes));
      // With swap, a process over its limit would slow down instead of being killed; version 1 has no file for it
      // without swap.
      if (isSecond && existsSync(join(folder, 'memory.swap.max')))
        await writeFile(join(folder, 'memory.swap.max'), '0');
      return group;
    } catch (error) {
      await group.remove();
      throw error;
    }
  }

  private constructor(folder: string, form: GroupForm) {
    this.#folder = folder;
    this.#form = form;
    this.joinFile = join(folder, 'cgroup.procs');
  }

  /** Processes of the group that were killed for lack of memory. */
  async kills(): Promise<number> {
    const text = await readFile(join(this.#folder, this.#form.kills), 'utf8');
    const count = /^oom_kill (\d+)$/m.exec(text)?.[1];
    if (count === undefined) throw new Error(`${this.#form.kills} does not count kills: this kernel is too old`);
    return Number(count);
  }

  /** Call it when its processes have ended. */
  async remove(): Promise<void> {
    for (let isLast = false; ;) {
      try {
        return await rmdir(this.#folder);
      } catch (error) {
        if (isLast) throw error;
        // The kernel releases a process shortly after its end.
        await delay(500);
        isLast = true;
      }
    }
  }
}
