import { get, json } from '../../harness/wire/wire-request.ts';
import { caseName, type AttackArea } from '../fuzz-case.ts';
import { exactDifference, parseExact, type ExactJson } from '../oracles/exact-json.ts';
import { group } from '../fuzz-targets.ts';
import { headerOf, type Answer } from '../../harness/wire/answer.ts';
import { jsonText } from './hostile-json.ts';

type Members = { [key: string]: ExactJson };

/** An accepted object must equal the sent one, except for forbidden keys, and must be unchanged when it is read. */
function judge(sent: string): (answers: readonly (Answer | undefined)[]) => string | undefined {
  return ([, written, read]) => {
    if (written === undefined || written.status > 201)
      return [400, 409, 413, 422, 429].includes(written?.status ?? 0)
        ? undefined
        : `a valid object was answered ${written?.status}`;
    if (/__proto__|\\u005f|constructor|prototype/.test(sent)) return undefined;
    const expected = (parseExact(sent) as Members)['spec'];
    const answered = (parseExact(written.body.toString()) as Members)['spec'];
    const difference = exactDifference(expected, answered, 'spec');
    if (difference !== undefined) return `the answer differs from what was sent: ${difference}`;
    // Another case may have changed or deleted the object in between.
    if (read?.status !== 200 || headerOf(read, 'etag') !== headerOf(written, 'etag')) return undefined;
    const kept = exactDifference(parseExact(written.body.toString()), parseExact(read.body.toString()));
    return kept === undefined ? undefined : `what is read differs from what was answered: ${kept}`;
  };
}

/** Objects of a model that preserves unknown fields, written and read: numbers and characters must be unchanged. */
export const roundTrips: AttackArea = {
  name: 'round trips',
  weight: 5,
  generate(random, fixtures) {
    const name = `r${caseName(random)}`;
    const members = random.some(4, (index) => `"m${index}":${jsonText(random, 3)}`);
    const body = `{"apiVersion":"${group}/v1","kind":"Free","metadata":{"name":"${name}"},"spec":{${members.join(',')}}}`;
    return {
      changes: 'maybe',
      requests: [
        json('DELETE', `${fixtures.frees}/${name}`, ''),
        json('POST', fixtures.frees, body),
        get(`${fixtures.frees}/${name}`),
      ],
      judge: judge(body),
    };
  },
};
