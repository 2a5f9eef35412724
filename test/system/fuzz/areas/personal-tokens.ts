import { get, json } from '../../harness/wire/wire-request.ts';
import { percent, wellFormed, type AttackArea, type FuzzCase } from '../fuzz-case.ts';
import { hostileJsonBody, jsonText } from './hostile-json.ts';
import { hostileText } from './hostile-text.ts';

const path = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';

/** Personal tokens: their options, names, restrictions and revocation. No created token is used. */
export const personalTokens: AttackArea = {
  name: 'personal tokens',
  weight: 3,
  generate(random) {
    const text = wellFormed(hostileText(random));
    const name = random.chance(0.6) ? `f${random.below(100)}` : text;
    const spec = {
      displayName: random.pick([undefined, 'x', text, 1]),
      expiresAt: random.pick([undefined, '2099-01-01T00:00:00Z', '2000-01-01T00:00:00Z', '2099-01-01', text, 1]),
      roles: random.pick([
        undefined,
        [],
        ['view'],
        ['view', 'view'],
        ['nope'],
        [text],
        text,
        Array.from({ length: 65 }, () => 'view'),
      ]),
    };
    const metadata = {
      name: random.pick([name, undefined]),
      generateName: random.pick([undefined, 'g-', text]),
      labels: random.pick([undefined, { a: text }]),
    };
    const body = {
      apiVersion: random.pick(['uc.api.security.svc.run/v1alpha1', undefined, text]),
      kind: random.pick(['PersonalAccessToken', undefined, text]),
      metadata,
      spec,
    };
    const around = (value: string): string => `{"metadata":{"name":${JSON.stringify(name)}},"spec":${value}}`;
    const one = `${path}/${percent(name)}`;
    return random.one<Omit<FuzzCase, 'area'>>(
      () => ({
        changes: 'maybe',
        requests: [
          json(
            'POST',
            `${path}${random.pick(['', '', '?dryRun=All', '?fieldValidation=Strict'])}`,
            body,
            random.chance(0.1) ? [['Idempotency-Key', 'k']] : [],
          ),
        ],
      }),
      () => ({
        changes: 'maybe',
        requests: [json('POST', path, random.chance(0.5) ? hostileJsonBody(random, around) : around(jsonText(random)))],
      }),
      () => ({
        changes: 'maybe',
        requests: [
          json(
            'PUT',
            `${one}/actions/${random.pick(['revocation', 'restoration', 'x', percent(text)])}`,
            random.pick(['', '{}', '[', jsonText(random)]),
          ),
        ],
      }),
      () => ({ changes: 'maybe', requests: [json('DELETE', one, random.pick(['', '{}', jsonText(random)]))] }),
      () => ({
        changes: 'never',
        requests: [
          get(
            random.pick([
              path,
              one,
              `${path}?limit=${percent(text)}&continue=${percent(text)}&labelSelector=${percent(text)}`,
              `${path}/`,
              `${one}/actions`,
            ]),
          ),
        ],
      }),
      () => ({
        changes: 'never',
        requests: [{ method: random.pick(['PATCH', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']), target: path, headers: [] }],
      }),
    );
  },
};
