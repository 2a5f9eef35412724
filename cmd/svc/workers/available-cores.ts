import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

/** The mount points of control groups, and what tells which ones this process is in. */
export interface CgroupFiles {
  root: string;
  self: string;
}

const ofSystem: CgroupFiles = { root: '/sys/fs/cgroup', self: '/proc/self/cgroup' };

/** Processors that this process may use: by its affinity, and by the quota of its control groups. May be a fraction. */
export function availableCores(files: CgroupFiles = ofSystem, parallelism = availableParallelism()): number {
  return Math.min(parallelism, cgroupQuota(files));
}

/** The least quota of the control group of this process and those above it; Infinity without one. */
function cgroupQuota({ root, self }: CgroupFiles): number {
  let least = Infinity;
  for (const line of read(self)?.split('\n') ?? []) {
    const [, id, controllers = '', path = '/'] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    const isUnified = id === '0' && controllers === '';
    if (!isUnified && !controllers.split(',').includes('cpu')) continue;
    const mount = isUnified ? root : join(root, controllers);
    // In a container the path may be that of the host, which is not mounted: its own group is the root of the mount.
    for (let group = path; ; group = dirname(group)) {
      const folder = join(mount, group);
      least = Math.min(least, isUnified ? unifiedQuota(folder) : legacyQuota(folder));
      if (group === '/' || group === '.') break;
    }
  }
  return least;
}

function unifiedQuota(folder: string): number {
  const [quota, period] = read(join(folder, 'cpu.max'))?.trim().split(' ') ?? [];
  return ratio(quota, period);
}

function legacyQuota(folder: string): number {
  return ratio(read(join(folder, 'cpu.cfs_quota_us'))?.trim(), read(join(folder, 'cpu.cfs_period_us'))?.trim());
}

/** No quota is `max` or -1. */
function ratio(quota: string | undefined, period: string | undefined): number {
  const cores = Number(quota) / Number(period);
  return cores > 0 ? cores : Infinity;
}

/** Undefined if there is no such file, as on other systems. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
