import { json } from '../../harness/wire/wire-request.ts';
import { caseName, wellFormed, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { group } from '../fuzz-targets.ts';
import { jsonText } from './hostile-json.ts';
import { hostileText, mutateText } from './hostile-text.ts';

const path = '/api/v1/namespaces/default/resourcequotas';
const limits = ['0', '10', '1Gi', '1.5', '1e3', '1e999', '-1', '1500m', '99999999999999999999', '1Ki1', '٣', ' 1', ''];
// No limit that is in force may touch what other areas write.
const names = ['count/things.nowhere.example', 'bytes/things.nowhere.example', 'count/resourcequotas', 'cpu', 'count/'];

function hard(random: SeededRandom): string {
  const text = (): string => JSON.stringify(wellFormed(hostileText(random)));
  const name = (): string =>
    random.one(
      () => JSON.stringify(random.pick(names)),
      () => JSON.stringify(wellFormed(mutateText(random, `count/things.nowhere.${group}`))),
      () => `"x${text().slice(1)}`,
    );
  const value = (): string =>
    random.one(
      () => JSON.stringify(random.pick(limits)),
      text,
      () => jsonText(random, 1),
    );
  return `{${random.some(random.chance(0.05) ? 150 : 4, () => `${name()}:${value()}`).join(',')}}`;
}

/** Quotas with almost valid limits, scopes and statuses. */
export const quotas: AttackArea = {
  name: 'quotas',
  weight: 3,
  generate(random) {
    const name = caseName(random);
    const scopes = random.chance(0.2) ? `,"scopes":${jsonText(random, 1)}` : '';
    const status = random.chance(0.3) ? `,"status":{"hard":${hard(random)},"used":${jsonText(random, 1)}}` : '';
    const body = `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"${name}"},"spec":{"hard":${hard(random)}${scopes}}${status}}`;
    const write = random.one(
      () => json('POST', path, body),
      () => json('POST', `${path}?dryRun=All`, body),
      () => json('PUT', `${path}/${name}`, body),
      () => json('PUT', `${path}/${name}/status`, body),
      () => json('DELETE', `${path}/${name}`, '{}'),
    );
    return { changes: 'maybe', requests: [write] };
  },
};
