/** The attack, in a separate process, so that sending does not slow down the measurement. */
import { serveJobs } from '../harness/process/worker-process.ts';
import type { AttackTally } from './attack-tally.ts';
import { Attacker, clients, json, largeBytes, type ClientGroup } from './attacker.ts';
import { documentOf, type Tenant } from './tenant-model.ts';

/**
 * The first job of a process prepares, whatever its `seconds`: it creates the targets, and tries each kind of request
 * alone, because few of many concurrent clients succeed.
 */
export interface AttackJob extends Tenant {
  seconds: number;
  /** Only these kinds; default all. */
  only?: readonly string[];
}

/** An object with the maximum of 100 000 values and keys: small on the wire, large once parsed. */
const denseParts = 49_000;
/** Objects of a megabyte for lists and watches. */
const listed = 40;

/** Creates the targets and returns the clients. */
async function prepare(attacker: Attacker): Promise<ClientGroup[]> {
  const large = json(documentOf('large', { text: 'x'.repeat(largeBytes - 200) }));
  // One character outside of Latin-1 doubles the size of the text in memory.
  const wide = json(documentOf('wide', { text: `\u0416${'x'.repeat(largeBytes - 200)}` }));
  const dense = json(documentOf('dense', { parts: Array.from({ length: denseParts }, () => ({})) }));
  const words = json(
    documentOf('words', {
      parts: Array.from({ length: 12_000 }, (_, i) => ({ [`name-${i}`]: `${i} `.repeat(30), b: [i, `${i}`] })),
    }),
  );
  // The maximum of YAML: 1 MiB, and 60 000 tokens.
  const yaml = Buffer.from(
    `apiVersion: tenants.svc.example/v1\nkind: Document\nmetadata:\n  name: yaml\nspec:\n  parts:\n${Array.from({ length: 5000 }, (_, i) => `  - title: ${`${i} `.repeat(40)}\n`).join('')}`,
  );
  const megabyte = 'y'.repeat(1_000_000);
  for (let i = 0; i < listed; i += 1)
    await attacker.attempt({
      kind: 'prepare',
      method: 'POST',
      path: '',
      body: json(documentOf(`listed-${i}`, { text: megabyte })),
    });
  await attacker.attempt({
    kind: 'prepare',
    method: 'POST',
    path: '',
    body: json(documentOf('patched', { text: 'z'.repeat(largeBytes - 200) })),
  });
  // With its metadata just below the memory limit.
  await attacker.attempt({
    kind: 'prepare',
    method: 'POST',
    path: '',
    body: json(documentOf('small', { text: 's'.repeat(64_000) })),
  });
  const before = await attacker.metadataOf('?limit=1');
  const bodies = [large, wide, large, words, dense];
  const label = Buffer.from('{"metadata":{"labels":{"patched":"yes"}}}');
  const spec = (i: number): Buffer => json({ spec: { title: `${i}` } });
  const merge = 'application/merge-patch+json';
  for (const name of ['patched', ...Array.from({ length: 8 }, (_, i) => `listed-${i}`)])
    await attacker.attempt({
      kind: 'prepare changes',
      method: 'PATCH',
      path: `/${name}`,
      body: label,
      contentType: merge,
    });
  const old = `?watch=true&resourceVersion=${before.resourceVersion}`;
  const rest = `?limit=1000&continue=${before.continue}`;
  const unread = { bytes: 10_000, ms: 10_000 };

  return [
    clients(190, (i) => ({
      kind: 'dry-run create',
      method: 'POST',
      path: '?dryRun=All',
      body: bodies[i % bodies.length],
    })),
    clients(8, () => ({
      kind: 'dry-run create, YAML',
      method: 'POST',
      path: '?dryRun=All',
      body: yaml,
      contentType: 'application/yaml',
    })),
    clients(
      2,
      (i) => ({
        kind: 'create',
        method: 'POST',
        path: '',
        body: json(documentOf(`created-${i % 40}`, { text: `${i}`.repeat(400_000) })),
      }),
      1000,
    ),
    clients(2, (i) => ({ kind: 'delete', method: 'DELETE', path: `/created-${i % 40}` }), 1000),
    clients(14, () => ({ kind: 'list, whole', path: '' })),
    clients(13, () => ({ kind: 'list, page', path: '?page=1&size=1000' })),
    clients(13, () => ({ kind: 'list, chunk', path: '?limit=1000' })),
    clients(20, () => ({ kind: 'watch', path: '?watch=true', maxMs: 4000 })),
    clients(60, () => ({ kind: 'watch, not read', path: '?watch=true', stalls: { bytes: 100_000, ms: 10_000 } })),
    clients(20, () => ({ kind: 'watch, old revision', path: old, maxMs: 8000 })),
    clients(60, () => ({ kind: 'watch, old revision, not read', path: old, stalls: unread })),
    clients(16, (i) => ({
      kind: 'dry-run patch',
      method: 'PATCH',
      path: '/patched?dryRun=All',
      body: spec(i),
      contentType: merge,
    })),
    clients(
      2,
      (i) => ({
        kind: 'patch',
        method: 'PATCH',
        path: '/patched',
        body: i % 2 === 0 ? label : spec(i),
        contentType: merge,
      }),
      500,
    ),
    clients(30, () => ({ kind: 'get', path: '/patched' })),
    clients(30, () => ({ kind: 'get, not read', path: '/patched', stalls: unread })),
    clients(10, () => ({ kind: 'list, not read', path: '?limit=1000', stalls: unread })),
    clients(10, () => ({
      kind: 'list, YAML',
      path: '?limit=1000',
      headers: { Accept: 'application/yaml' },
      maxMs: 8000,
    })),
    clients(10, () => ({ kind: 'list, continued chunk', path: rest })),
    clients(30, () => ({ kind: 'list, continued chunk, not read', path: rest, stalls: unread })),
    clients(200, () => ({ kind: 'small get, not read', path: '/small', unread: { count: 16, ms: 10_000 } })),
  ];
}

let prepared: { attacker: Attacker; groups: readonly ClientGroup[] } | undefined;

async function run(job: AttackJob): Promise<AttackTally> {
  if (prepared !== undefined) {
    await prepared.attacker.attack(prepared.groups, job.seconds);
    return prepared.attacker.tally;
  }
  const attacker = new Attacker(job);
  const groups = (await prepare(attacker)).filter(({ attempt }) => job.only?.includes(attempt(0).kind) ?? true);
  await attacker.try(groups);
  prepared = { attacker, groups };
  return attacker.tally;
}

serveJobs((job: never) => run(job));
