import { compileSelector, type LabelRequirement } from '#pkg/apimachinery/index';
import type { ClusterRole, PolicyRule, RoleSelector } from '#pkg/apis/index';
import { CompiledRule } from './compiled-rule.ts';
import { RuleIndex } from './rule-index.ts';

/** A role that there is, or that a binding speaks of: it may be made later, and has no rules until then. */
export class RoleEntry {
  readonly name: string;
  readonly effective = new RuleIndex();
  /** Bindings that speak of it. */
  bindings = 0;
  /** Undefined where there is no such role. */
  content: RoleContent | undefined;

  constructor(name: string) {
    this.name = name;
  }
}

/** What is written in a role. */
export interface RoleContent {
  labels: Readonly<Record<string, string>>;
  /** None where it aggregates others: what is written there is what somebody found out, and may be old. */
  rules: readonly CompiledRule[];
  /** Undefined where it does not aggregate. */
  selects: ((labels: Readonly<Record<string, string>>) => boolean) | undefined;
  /** Equal texts select the same. */
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
      // Anything else was refused when it was written.
      return operator === 'NotIn'
        ? { key, operator, values }
        : { key, operator: 'In', values: operator === 'In' ? values : [] };
    }),
  ];
}
