import { get, json } from '../../harness/wire/wire-request.ts';
import { percent, wellFormed, type AttackArea, type FuzzCase } from '../fuzz-case.ts';
import { group } from '../fuzz-targets.ts';
import { hostileText } from './hostile-text.ts';

/**
 * Names of objects, namespaces, groups, versions, models and subresources, in paths and bodies; deletes and their
 * options.
 */
export const names: AttackArea = {
  name: 'names',
  weight: 5,
  generate(random, fixtures) {
    const text = hostileText(random);
    const segment = percent(text);
    const meta = (): object => ({
      name: text,
      generateName: random.pick([undefined, 'g', text]),
      namespace: random.pick([undefined, 'default', 'nope', text]),
      labels: random.pick([undefined, { [text]: 'x' }, { x: text }]),
      annotations: random.pick([undefined, { [text]: text }]),
      finalizers: random.pick([undefined, [text]]),
    });
    // JSON.parse makes prototype keys own members, so that JSON.stringify writes them.
    const labels = JSON.parse(`{${JSON.stringify(wellFormed(text))}:"v"}`) as object;
    const options = {
      kind: random.pick(['DeleteOptions', text]),
      propagationPolicy: random.pick([undefined, 'Orphan', text]),
      gracePeriodSeconds: random.pick([undefined, 0, -1, 1e300, text]),
      dryRun: random.pick([undefined, ['All'], [text], text]),
      preconditions: random.pick([undefined, { uid: text }, { resourceVersion: text }, text]),
    };
    return random.one<Omit<FuzzCase, 'area'>>(
      () => ({
        changes: 'never',
        requests: [
          get(
            `${random.pick([fixtures.posts, fixtures.notes])}/${segment}${random.pick(['', '/status', '/scale', `/${segment}`, '/x/y'])}`,
          ),
        ],
      }),
      () => ({ changes: 'never', requests: [get(`/apis/${segment}/v1/posts`)] }),
      () => ({ changes: 'never', requests: [get(`/apis/${group}/${segment}/posts`)] }),
      () => ({ changes: 'never', requests: [get(`/apis/${group}/v1/${segment}`)] }),
      () => ({
        changes: 'never',
        requests: [get(`/apis/${group}/v1/namespaces/${segment}/notes${random.pick(['', '/x'])}`)],
      }),
      () => ({ changes: 'never', requests: [get(`/api/v1/namespaces/${segment}`)] }),
      () => ({ changes: 'never', requests: [get(`/${segment}/${segment}`)] }),
      () => ({
        changes: 'maybe',
        requests: [
          json('POST', random.pick([fixtures.frees, fixtures.notes]), {
            apiVersion: `${group}/v1`,
            kind: 'Free',
            metadata: { ...meta(), labels },
          }),
        ],
      }),
      () => ({
        changes: 'maybe',
        requests: [
          json('POST', `${fixtures.frees}?dryRun=All`, { apiVersion: `${group}/v1`, kind: 'Free', metadata: meta() }),
        ],
      }),
      () => ({
        changes: 'maybe',
        requests: [
          json('PUT', `${fixtures.frees}/${segment}`, { apiVersion: `${group}/v1`, kind: 'Free', metadata: meta() }),
        ],
      }),
      () => ({
        changes: 'maybe',
        requests: [
          json(
            'DELETE',
            `${fixtures.frees}/f${random.below(500)}${random.pick(['', '?dryRun=All', '?gracePeriodSeconds=-1', `?propagationPolicy=${segment}`])}`,
            options,
          ),
        ],
      }),
      () => ({
        changes: 'never',
        requests: [
          json('DELETE', `${fixtures.frees}?dryRun=All&labelSelector=${segment}&fieldSelector=${segment}`, options),
        ],
      }),
    );
  },
};
