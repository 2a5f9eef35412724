import { compileSelector, type LabelRequirement } from '#pkg/apimachinery/index';
import type { ClusterRole, PolicyRule, RoleSelector } from '#pkg/apis/index';
import { CompiledRule } from './compiled-rule.ts';
import { RuleIndex } from './rule-index.ts';

/** A role that exists or that a binding refers to. A missing role has no rules until it is created. */
export class RoleEntry {
  readonly name: string;
  readonly effective = new RuleIndex();
  /** Bindings that refer to it. */
  bindings = 0;
  /** Undefined if the role does not exist. */
  content: RoleContent | undefined;

  constructor(name: string) {
    this.name = name;
  }
}

/** The content of a role. */
export interface RoleContent {
  labels: Readonly<Record<string, string>>;
  /** Empty for an aggregated role: its stored rules were computed by a controller, and may be outdated. */
  rules: readonly CompiledRule[];
  /** Undefined if it is not aggregated. */
  selects: ((labels: Readonly<Record<string, string>>) => boolean) | undefined;
  /** Equal texts select the same roles. */
  selectors: string;
}

export function readContent(body: string): RoleContent {
  const { metadata, rules, aggregationRule } = JSON.parse(body) as ClusterRole;
  const selectors = aggregationRule?.clusterRoleSelectors;
  return {
    labels: metadata.labels ?? {},
    rules: aggregationRule === undefined ? compileRules(rules ?? []) : [],
    selects: aggregationRule === undefined ? undefined : compileSelectors(selectors ?? []),
    selectors: aggregationRule === undefined ? '' : JSON.stringify(selectors ?? []),
  };
}

export function compileRules(rules: readonly PolicyRule[]): CompiledRule[] {
  return rules.map((rule) => new CompiledRule(rule));
}

function compileSelectors(selectors: readonly RoleSelector[]): NonNullable<RoleContent['selects']> {
  const compiled = selectors.map((selector) => compileSelector({ labels: requirementsOf(selector), fields: [] }));
  return (labels) => compiled.some((matches) => matches({ apiVersion: '', kind: '', metadata: { name: '', labels } }));
}

function requirementsOf({ matchLabels = {}, matchExpressions = [] }: RoleSelector): LabelRequirement[] {
  return [
    ...Object.entries(matchLabels).map(([key, value]): LabelRequirement => ({ key, operator: 'In', values: [value] })),
    ...matchExpressions.map(({ key, operator, values = [] }): LabelRequirement => {
      if (operator === 'Exists' || operator === 'DoesNotExist') return { key, operator };
      // Validation refuses any other operator at writes.
      return operator === 'NotIn'
        ? { key, operator, values }
        : { key, operator: 'In', values: operator === 'In' ? values : [] };
    }),
  ];
}
