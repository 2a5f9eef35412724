import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { validateRole } from './validate-role.ts';

const told = (role: JsonObject, namespaced = false): string[] =>
  validateRole(role, { namespaced }).map(({ field, message }) => `${field}: ${message}`);
const rule = { verbs: ['get'], apiGroups: [''], resources: ['posts'] };
const aggregating = (selector: JsonObject): JsonObject => ({ aggregationRule: { clusterRoleSelectors: [selector] } });
const expression = (more: JsonObject): JsonObject =>
  aggregating({ matchExpressions: [{ key: 'k', operator: 'In', values: ['v'], ...more }] });
const at = 'aggregationRule.clusterRoleSelectors[0]';

describe('a role is refused for', () => {
  test.each<[string, JsonObject, string[]]>([
    ['nothing: no rules', {}, []],
    ['nothing: a rule', { rules: [rule, { verbs: ['get'], nonResourceURLs: ['/a', '*'] }] }, []],
    [
      'no verbs',
      { rules: [{ ...rule, verbs: [] }] },
      ['rules[0].verbs: Required value: verbs must contain at least one value'],
    ],
    [
      'no groups and resources',
      { rules: [rule, { verbs: ['get'] }] },
      [
        'rules[1].apiGroups: Required value: resource rules must supply at least one api group',
        'rules[1].resources: Required value: resource rules must supply at least one resource',
      ],
    ],
    [
      'paths and resources',
      { rules: [{ ...rule, nonResourceURLs: ['/a'] }] },
      [
        'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs',
      ],
    ],
    [
      'no selectors',
      { aggregationRule: {} },
      [
        'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
      ],
    ],
    ['nothing: a selector of everything', aggregating({}), []],
    ['nothing: an expression', expression({}), []],
    [
      'an invalid label',
      aggregating({ matchLabels: { 'a b': 'true' } }),
      [expect.stringContaining(`${at}.matchLabels: Invalid value: "a b"`) as unknown as string],
    ],
    [
      'an unknown operator',
      expression({ operator: 'Gt' }),
      [`${at}.matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator`],
    ],
    [
      'no values',
      expression({ values: [] }),
      [`${at}.matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`],
    ],
    [
      'values for an operator without values',
      expression({ operator: 'Exists' }),
      [
        `${at}.matchExpressions[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
      ],
    ],
  ])('%s', (_reason, role, causes) => {
    expect(told(role)).toEqual(causes);
  });

  test('non-resource URLs in a namespace', () => {
    expect(told({ rules: [{ verbs: ['get'], nonResourceURLs: ['/a'] }] }, true)).toEqual([
      'rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs',
    ]);
  });

  test('at most 100 causes', () => {
    expect(told({ rules: Array.from({ length: 5000 }, () => ({ verbs: [] })) })).toHaveLength(100);
  });
});
