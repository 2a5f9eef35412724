import { describe, expect, test } from '@jest/globals';
import type { JsonObject, JsonValue } from '#pkg/apimachinery/index';
import { AuditPolicyError } from './audit-policy-error.ts';
import { defaultPolicyText } from './default-policy.ts';
import { readPolicyDocument } from './policy-document.ts';

const head = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy' };

function refusalOf(text: string): string {
  try {
    readPolicyDocument(text);
  } catch (error) {
    if (error instanceof AuditPolicyError) return error.message;
    throw error;
  }
  return 'none';
}

const refusalOfPolicy = (policy: JsonValue): string => refusalOf(JSON.stringify(policy));
const refusalOfRule = (rule: JsonValue): string => refusalOfPolicy({ ...head, rules: [{ level: 'None' }, rule] });

describe('reads', () => {
  const nothing = { users: [], userGroups: [], verbs: [], resources: [], namespaces: [], nonResourceURLs: [] };

  test('every field of a policy in YAML', () => {
    const text = `
apiVersion: audit.k8s.io/v1
kind: Policy
metadata: {name: mine, labels: {any: thing}}
omitStages: [RequestReceived]
omitManagedFields: true
rules:
  - level: Request
    users: [ada]
    userGroups: ['system:masters']
    verbs: [create]
    resources:
      - {group: '', resources: [pods, '*/status'], resourceNames: [a]}
      - {group: apps}
      - {group: '*', resources: [leases]}
    namespaces: ['', default]
    omitStages: [ResponseStarted, ResponseComplete, Panic]
    omitManagedFields: false
  - level: RequestResponse
    nonResourceURLs: ['*', /healthz*, /version]
`;
    expect(readPolicyDocument(text)).toEqual({
      omitStages: ['RequestReceived'],
      omitManagedFields: true,
      rules: [
        {
          level: 'Request',
          users: ['ada'],
          userGroups: ['system:masters'],
          verbs: ['create'],
          resources: [
            { group: '', resources: ['pods', '*/status'], resourceNames: ['a'] },
            { group: 'apps', resources: [], resourceNames: [] },
            { group: '*', resources: ['leases'], resourceNames: [] },
          ],
          namespaces: ['', 'default'],
          nonResourceURLs: [],
          omitStages: ['ResponseStarted', 'ResponseComplete', 'Panic'],
          omitManagedFields: false,
        },
        {
          ...nothing,
          level: 'RequestResponse',
          nonResourceURLs: ['*', '/healthz*', '/version'],
          omitStages: [],
          omitManagedFields: undefined,
        },
      ],
    });
  });

  test('JSON, and aliases of YAML', () => {
    expect(readPolicyDocument(JSON.stringify({ ...head, rules: [{ level: 'Metadata' }] }))).toEqual({
      omitStages: [],
      omitManagedFields: false,
      rules: [{ ...nothing, level: 'Metadata', omitStages: [], omitManagedFields: undefined }],
    });
    const text =
      'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, users: &u [ada]}, {level: None, users: *u}]';
    expect(readPolicyDocument(text).rules.map(({ users }) => users)).toEqual([['ada'], ['ada']]);
  });

  test('the default policy', () => expect(readPolicyDocument(defaultPolicyText).rules).toHaveLength(7));

  test('as many rules and entries as are allowed', () => {
    const users = Array.from({ length: 1000 }, () => 'a');
    const rules = Array.from({ length: 1000 }, () => ({ level: 'None' }));
    expect(refusalOfPolicy({ ...head, rules: [{ level: 'None', users }, ...rules.slice(1)] })).toBe('none');
  });
});

const words = 'use None, Metadata, Request or RequestResponse';
const stages = 'use RequestReceived, ResponseStarted, ResponseComplete or Panic';

describe('refuses in a rule', () => {
  test.each<[rule: JsonValue, refusal: string]>([
    [null, 'rules[1]: must be an object'],
    ['None', 'rules[1]: must be an object'],
    [[], 'rules[1]: must be an object'],
    [{}, 'rules[1].level: is required'],
    [{ level: 'metadata' }, `rules[1].level: "metadata" is not a level; ${words}`],
    [{ level: '' }, `rules[1].level: "" is not a level; ${words}`],
    [{ level: 'constructor' }, `rules[1].level: "constructor" is not a level; ${words}`],
    [{ level: `\n${'x'.repeat(99)}` }, `rules[1].level: " ${'x'.repeat(59)}..." is not a level; ${words}`],
    [{ level: 1 }, 'rules[1].level: must be a string'],
    [{ level: null }, 'rules[1].level: must be a string'],
    [{ level: 'None', user: ['ada'] }, 'rules[1].user: unknown field; did you mean users?'],
    [{ level: 'None', toString: 1 }, 'rules[1].toString: unknown field'],
    [{ level: 'None', 'a.b\u001b': 1 }, 'rules[1][a.b\uFFFD]: unknown field'],
    [{ level: 'None', users: 'ada' }, 'rules[1].users: must be a list'],
    [{ level: 'None', users: null }, 'rules[1].users: must be a list'],
    [{ level: 'None', users: ['ada', 7] }, 'rules[1].users[1]: must be a string'],
    [{ level: 'None', userGroups: [null] }, 'rules[1].userGroups[0]: must be a string'],
    [{ level: 'None', verbs: [true] }, 'rules[1].verbs[0]: must be a string'],
    [{ level: 'None', namespaces: [{}] }, 'rules[1].namespaces[0]: must be a string'],
    [
      { level: 'None', users: Array.from({ length: 1001 }, () => 'a') },
      'rules[1].users: must have at most 1000 entries',
    ],
    [{ level: 'None', resources: {} }, 'rules[1].resources: must be a list'],
    [{ level: 'None', resources: ['pods'] }, 'rules[1].resources[0]: must be an object'],
    [
      { level: 'None', resources: [{ groups: [''] }] },
      'rules[1].resources[0].groups: unknown field; did you mean group?',
    ],
    [{ level: 'None', resources: [{ group: 1 }] }, 'rules[1].resources[0].group: must be a string'],
    [{ level: 'None', resources: [{ resources: [1] }] }, 'rules[1].resources[0].resources[0]: must be a string'],
    [{ level: 'None', resources: [{ resourceNames: ['a'] }] }, 'rules[1].resources[0].resourceNames: needs resources'],
    [{ level: 'None', nonResourceURLs: ['metrics'] }, 'rules[1].nonResourceURLs[0]: must begin with "/", or be "*"'],
    [{ level: 'None', nonResourceURLs: [''] }, 'rules[1].nonResourceURLs[0]: must begin with "/", or be "*"'],
    [{ level: 'None', nonResourceURLs: ['/a', '/*/b'] }, 'rules[1].nonResourceURLs[1]: may have "*" only at the end'],
    [{ level: 'None', nonResourceURLs: ['/a**'] }, 'rules[1].nonResourceURLs[0]: may have "*" only at the end'],
    [
      { level: 'None', nonResourceURLs: ['*'], resources: [{ group: '' }] },
      'rules[1].nonResourceURLs: must not be in a rule with resources or namespaces',
    ],
    [
      { level: 'None', nonResourceURLs: ['*'], namespaces: [''] },
      'rules[1].nonResourceURLs: must not be in a rule with resources or namespaces',
    ],
    [{ level: 'None', omitStages: ['Response'] }, `rules[1].omitStages[0]: "Response" is not a stage; ${stages}`],
    [{ level: 'None', omitManagedFields: 'yes' }, 'rules[1].omitManagedFields: must be true or false'],
    [{ level: 'None', omitManagedFields: null }, 'rules[1].omitManagedFields: must be true or false'],
  ])('%j', (rule, refusal) => {
    expect(refusalOfRule(rule)).toBe(refusal);
  });

  test('a group that is no DNS name, such as a group with its version', () => {
    expect(refusalOfRule({ level: 'None', resources: [{ group: 'apps/v1' }] })).toMatch(
      /^rules\[1\]\.resources\[0\]\.group: a lowercase RFC 1123 subdomain must/,
    );
  });
});

describe('refuses in a policy', () => {
  const rules = [{ level: 'None' }];

  test.each<[policy: JsonValue, refusal: string]>([
    [null, 'the policy: must be an object'],
    [[], 'the policy: must be an object'],
    ['Policy', 'the policy: must be an object'],
    [{ kind: 'Policy', rules }, 'apiVersion: must be audit.k8s.io/v1'],
    [{ ...head, apiVersion: 'audit.k8s.io/v1beta1', rules }, 'apiVersion: must be audit.k8s.io/v1'],
    [{ apiVersion: head.apiVersion, rules }, 'kind: must be Policy'],
    [{ ...head, kind: 'policy', rules }, 'kind: must be Policy'],
    [head, 'rules: must have at least one rule'],
    [{ ...head, rules: [] }, 'rules: must have at least one rule'],
    [{ ...head, rules: null }, 'rules: must be a list'],
    [{ ...head, rules: {} }, 'rules: must be a list'],
    [{ ...head, rules: Array.from({ length: 1001 }, () => rules[0]!) }, 'rules: must have at most 1000 entries'],
    [{ ...head, rules, rule: [] }, 'rule: unknown field; did you mean rules?'],
    [{ ...head, rules, omitStages: 'Panic' }, 'omitStages: must be a list'],
    [{ ...head, rules, omitStages: ['panic'] }, `omitStages[0]: "panic" is not a stage; ${stages}`],
    [{ ...head, rules, omitManagedFields: 1 }, 'omitManagedFields: must be true or false'],
  ])('%.80j', (policy, refusal) => {
    expect(refusalOfPolicy(policy)).toBe(refusal);
  });
});

describe('refuses a text', () => {
  const laughs = Array.from(
    { length: 30 },
    (_, i) => `  a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(', ')}]`,
  );
  const policy = JSON.stringify({ ...head, rules: [{ level: 'None' }] });
  const maxBytes = 1 << 20;

  test.each<[reason: string, text: string, refusal: string | RegExp]>([
    ['that is empty', '', 'the policy holds no YAML document'],
    ['that is broken', 'rules: [', /^the policy is not valid YAML: line 1: /],
    ['that is cut JSON', '{"kind": "Policy', /^the policy is not valid YAML: line 1: /],
    ['of several documents', `${policy}\n---\n${policy}`, /^more YAML documents than expected/],
    ['with a tag', 'rules: !custom x', /tags are not supported|Unresolved tag/],
    ['with a field twice', `kind: Policy\nrules: [{level: None, level: Request}]`, 'rules[0].level: must be set once'],
    ['with __proto__ in YAML', 'kind: Policy\n__proto__: {rules: []}', '__proto__: unknown field'],
    ['with __proto__ in JSON', '{"rules":[{"__proto__":{"level":"None"}}]}', 'rules[0].__proto__: unknown field'],
    ['whose aliases explode', `metadata:\n  a0: &a0 [x]\n${laughs.join('\n')}`, /100000|3145728|values|characters/],
    ['that is deep JSON', '['.repeat(10_000), /^the policy is nested deeper than 100 levels$/],
    ['that is deep YAML', `a: ${'['.repeat(10_000)}`, /^the policy is nested deeper than 100 levels$/],
    [
      'of deep blocks',
      Array.from({ length: 400 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
      /nested deeper than 100/,
    ],
    ['of 1 MiB and a byte', policy.padEnd(maxBytes + 1), `the policy: must have at most ${maxBytes} bytes`],
    [
      'of 1 MiB and a byte in fewer characters',
      `${policy}${' '.repeat(maxBytes - policy.length - 1)}é`,
      `the policy: must have at most ${maxBytes} bytes`,
    ],
  ])('%s', (_reason, text, refusal) => {
    if (typeof refusal === 'string') expect(refusalOf(text)).toBe(refusal);
    else expect(refusalOf(text)).toMatch(refusal);
  });

  test('but not one of 1 MiB', () => expect(refusalOf(policy.padEnd(maxBytes))).toBe('none'));

  test('and leaves prototypes alone', () => {
    refusalOf('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    expect(({} as JsonObject)['polluted']).toBeUndefined();
  });
});
