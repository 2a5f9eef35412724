import { json } from '../../harness/wire/wire-request.ts';
import { group, type FuzzTargets } from '../fuzz-targets.ts';
import { wellFormed, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { hostileJsonBody, jsonText } from './hostile-json.ts';
import { hostileText } from './hostile-text.ts';
import { labelSelector } from './label-selectors.ts';

const path = '/apis/stream.svc.run/v1alpha1/streams';

/** Streams of several watches, with any subscriptions; reads the start of the answer. */
export const streams: AttackArea = {
  name: 'streams',
  weight: 2,
  generate(random, fixtures) {
    const subscriptions = Array.from({ length: random.pick([0, 1, 2, 8, 64, 65]) }, (_, i) =>
      subscription(random, String(i)),
    );
    const body = {
      since: since(random, fixtures),
      subscriptions: random.chance(0.9) ? subscriptions : jsonText(random),
    };
    const around = (value: string): string =>
      `{"since":"${fixtures.revision}","subscriptions":[{"id":"a","group":"${group}","version":"v1","resource":"posts","namespace":${value}}]}`;
    const text = random.chance(0.8)
      ? JSON.stringify(body)
      : random.chance(0.5)
        ? hostileJsonBody(random, around)
        : around(jsonText(random));
    const accept = random.pick([
      'application/json',
      'application/json',
      'application/json;stream=watch',
      'application/json;drop=metadata.managedFields',
      'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
      'application/json;as=Table;v=v1;g=meta.k8s.io',
      'text/event-stream',
      '*/*',
    ]);
    return { changes: 'never', requests: [{ ...json('POST', path, text, [['Accept', accept]]), stream: true }] };
  },
};

function since(random: SeededRandom, { revision }: FuzzTargets): unknown {
  const revisions = [revision, revision - 5, revision + 1_000_000_000, 0, '9'.repeat(20), '9'.repeat(21), -1, 'x', ''];
  return random.chance(0.3) ? undefined : random.chance(0.9) ? String(random.pick(revisions)) : random.pick(revisions);
}

function subscription(random: SeededRandom, id: string): object {
  const text = wellFormed(hostileText(random));
  return {
    id: random.chance(0.95) ? id : random.pick(['0', text, '', 1, null]),
    group: random.chance(0.8) ? group : random.pick(['', undefined, null, text, 'stream.svc.run']),
    version: random.chance(0.9) ? 'v1' : random.pick(['v2', '', '..', text]),
    resource: random.chance(0.7)
      ? random.pick(['posts', 'notes'])
      : random.pick(['namespaces', 'status', 'streams', 'posts/status', '..', text, 1]),
    namespace: random.chance(0.6) ? undefined : random.pick(['default', 'missing', '', null, '..', text]),
    labelSelector: random.chance(0.7) ? undefined : labelSelector(random),
    fieldSelector: random.chance(0.7)
      ? undefined
      : random.pick(['metadata.name=p1', 'spec.priority>3', 'spec.nope=1', text]),
    initialEvents: random.pick([undefined, undefined, true, false, null, 'true']),
    ...(random.chance(0.02) ? { [text]: 1 } : {}),
  };
}
