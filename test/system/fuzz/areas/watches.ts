import { get } from '../../harness/wire/wire-request.ts';
import { malformedEscape, query, type AttackArea } from '../fuzz-case.ts';
import { hostileText } from './hostile-text.ts';
import { labelSelector } from './label-selectors.ts';

/** Watches with any parameters, headers and formats; reads the start of the stream. */
export const watches: AttackArea = {
  name: 'watches',
  weight: 2,
  generate(random, fixtures) {
    const { revision } = fixtures;
    const number = (): string =>
      random.pick([
        '0',
        '1',
        '',
        '-1',
        String(revision),
        String(revision - 5),
        String(revision + 1_000_000_000),
        '9223372036854775807',
        '9223372036854775808',
        '1e3',
        hostileText(random),
      ]);
    const makers: (() => [string, string])[] = [
      () => ['resourceVersion', number()],
      () => ['resourceVersionMatch', random.pick(['NotOlderThan', 'Exact', '', 'x'])],
      () => ['sendInitialEvents', random.pick(['true', 'false', '', 'x'])],
      () => ['allowWatchBookmarks', random.pick(['true', 'false', '', 'x'])],
      () => ['timeoutSeconds', random.pick(['1', '0', '-1', '2147483648', '1e9', '99999999999', 'x'])],
      () => ['labelSelector', labelSelector(random)],
      () => [
        'fieldSelector',
        random.pick([
          'metadata.name=p1',
          'spec.title=Title 1',
          'spec.priority>3',
          'spec.nope=1',
          'metadata.name=a,metadata.name=b',
        ]),
      ],
      () => ['continue', random.pick(fixtures.continueTokens).token],
      () => ['watch', random.pick(['0', 'false', '', 'true', 'x'])],
      () => ['limit', number()],
    ];
    const search = query([
      ['watch', random.pick(['1', 'true', '', 'x'])],
      ...random.some(5, () => random.one(...makers)),
    ]);
    const headers: [string, string][] = [
      [
        'Accept',
        random.pick([
          'application/json',
          'text/event-stream',
          'application/yaml',
          'application/json;stream=watch',
          'application/json;as=Table;v=v1;g=meta.k8s.io',
          '*/*',
          'text/html',
        ]),
      ],
    ];
    if (random.chance(0.3))
      headers.push([
        'Last-Event-ID',
        random.pick(['0', '1', String(revision), '9'.repeat(20), '9'.repeat(21), '-1', 'x', '']),
      ]);
    const target = random.pick([fixtures.posts, fixtures.notes]) + search;
    return {
      changes: 'never',
      requests: [{ ...get(random.chance(0.05) ? malformedEscape(random, target) : target, headers), stream: true }],
    };
  },
};
