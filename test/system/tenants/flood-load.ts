/** The floods, in a separate process, so that sending does not slow down the measurement. */
import { serveJobs } from '../harness/process/worker-process.ts';
import type { AttackTally } from './attack-tally.ts';
import { Attacker, clients, json, largeBytes, type ClientGroup } from './attacker.ts';
import type { FloodName } from './floods.ts';
import { documentOf, leaseOf, leasesOf, type Tenant } from './tenant-model.ts';

/** The first job of a process creates the objects that floods read. */
export interface FloodJob extends Tenant {
  flood: FloodName;
  seconds: number;
}

/** A whole list has 4 MB. */
const objects = 2000;
const objectBytes = 2000;
/** So long a watch stays open. Milliseconds. */
const watchMs = 200;

async function prepare(attacker: Attacker, { namespace }: Tenant): Promise<void> {
  let i = 0;
  const create = async (): Promise<void> => {
    while (i < objects)
      await attacker.attempt({
        kind: 'prepare',
        method: 'POST',
        path: '',
        body: json(documentOf(`listed-${(i += 1)}`, { text: 'x'.repeat(objectBytes) })),
      });
  };
  await Promise.all(Array.from({ length: 16 }, create));
  await attacker.attempt({
    kind: 'prepare',
    method: 'POST',
    path: leasesOf(namespace),
    body: json(leaseOf('flooded')),
  });
}

function floodOf({ flood, namespace }: FloodJob): ClientGroup {
  switch (flood) {
    case 'small reads':
      return clients(300, (i) => ({ kind: flood, path: `/listed-${1 + (i % objects)}` }));
    case 'large lists':
      return clients(60, () => ({ kind: flood, path: '' }));
    case 'large bodies': {
      const body = json(documentOf('large', { text: 'x'.repeat(largeBytes - 200) }));
      return clients(60, () => ({ kind: flood, method: 'POST', path: '?dryRun=All', body }));
    }
    case 'creates': {
      const run = Date.now().toString(36);
      return clients(300, (i) => ({
        kind: flood,
        method: 'POST',
        path: '',
        body: json(documentOf(`created-${run}-${i}`, { title: `${i}` })),
      }));
    }
    case 'watches opened and closed':
      return clients(100, () => ({ kind: flood, path: '?watch=true', maxMs: watchMs }));
    case 'leases':
      return clients(300, () => ({ kind: flood, path: `${leasesOf(namespace)}/flooded` }));
  }
}

let isPrepared = false;

async function run(job: FloodJob): Promise<AttackTally> {
  if (!isPrepared) {
    const preparing = new Attacker(job);
    await prepare(preparing, job);
    isPrepared = true;
    return preparing.tally;
  }
  const attacker = new Attacker(job);
  await attacker.attack([floodOf(job)], job.seconds);
  return attacker.tally;
}

serveJobs((job: never) => run(job));
