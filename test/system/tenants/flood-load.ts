/** The floods, in a separate process, so that sending does not slow down the measurement. */
import { serveJobs } from '../harness/process/worker-process.ts';
import type { AttackTally } from './attack-tally.ts';
import { Attacker, clients, json, largeBytes, type Attempt } from './attacker.ts';
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
/** A watch is closed so long after it has begun. Milliseconds. */
const watchMs = 20;

async function prepare(attacker: Attacker, { namespace }: Tenant): Promise<void> {
  let i = 0;
  const create = async (): Promise<void> => {
    while (i < objects)
      await attacker.attempt({
        kind: 'prepare',
        method: 'POST',
        path: '',
        body: json(documentOf(`flood-${(i += 1)}`, { text: 'x'.repeat(objectBytes) })),
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

const large = json(documentOf('large', { text: 'x'.repeat(largeBytes - 200) }));
/** Differs in each process. */
const prefix = `created-${Date.now().toString(36)}`;

const floods: Readonly<Record<FloodName, (tenant: Tenant) => [clients: number, (i: number) => Omit<Attempt, 'kind'>]>> =
  {
    'small reads': () => [300, (i) => ({ path: `/flood-${1 + (i % objects)}` })],
    'large lists': () => [60, () => ({ path: '' })],
    'large bodies': () => [60, () => ({ method: 'POST', path: '?dryRun=All', body: large })],
    creates: () => [
      300,
      (i) => ({ method: 'POST', path: '', body: json(documentOf(`${prefix}-${i}`, { title: `${i}` })) }),
    ],
    'watches opened and closed': () => [100, () => ({ path: '?watch=true', stalls: { bytes: 1, ms: watchMs } })],
    leases: ({ namespace }) => [300, () => ({ path: `${leasesOf(namespace)}/flooded` })],
  };

let isPrepared = false;

async function run(job: FloodJob): Promise<AttackTally> {
  if (!isPrepared) {
    const preparing = new Attacker(job);
    await prepare(preparing, job);
    isPrepared = true;
    return preparing.tally;
  }
  const attacker = new Attacker(job);
  const [count, attempt] = floods[job.flood](job);
  await attacker.attack([clients(count, (i) => ({ kind: job.flood, ...attempt(i) }))], job.seconds);
  return attacker.tally;
}

serveJobs((job: never) => run(job));
