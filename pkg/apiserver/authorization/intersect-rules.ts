import type { PolicyRule } from '#pkg/apis/index';
import { coversPath } from './compiled-rule.ts';
import { compactRules } from './permissions.ts';

/** Limit of compared pairs of rules, so that no request is blocked. */
const maxPairs = 100_000;

/** The rules that both sets allow; only a part if there are too many pairs. */
export function intersectRules(
  ones: ReadonlySet<PolicyRule>,
  others: ReadonlySet<PolicyRule>,
): { rules: PolicyRule[]; isComplete: boolean } {
  // A rule in both sets is part of the result, and its pairs with other rules add nothing.
  const rules = [...ones].filter((rule) => others.has(rule));
  const only = [...ones].filter((rule) => !others.has(rule));
  const otherOnly = [...others].filter((rule) => !ones.has(rule));
  const looked = only.slice(0, Math.ceil(maxPairs / Math.max(otherOnly.length, 1)));
  const narrowed = looked.flatMap((rule) => otherOnly.flatMap((other) => intersectPair(rule, other) ?? []));
  return { rules: [...rules, ...compactRules(narrowed)], isComplete: looked.length === only.length };
}

/** The intersection of both rules; undefined if it is empty. */
function intersectPair(one: PolicyRule, other: PolicyRule): PolicyRule | undefined {
  const verbs = common(one.verbs, other.verbs, narrowerText);
  if (verbs.length === 0) return undefined;
  const nonResourceURLs = common(one.nonResourceURLs, other.nonResourceURLs, narrowerPath);
  if (nonResourceURLs.length > 0) return { verbs, nonResourceURLs };
  const apiGroups = common(one.apiGroups, other.apiGroups, narrowerText);
  const resources = common(one.resources, other.resources, narrowerResource);
  if (apiGroups.length === 0 || resources.length === 0) return undefined;
  const { resourceNames: names = [] } = one;
  const { resourceNames: otherNames = [] } = other;
  if (names.length === 0 && otherNames.length === 0) return { verbs, apiGroups, resources };
  const resourceNames =
    names.length === 0
      ? otherNames
      : otherNames.length === 0
        ? names
        : names.filter((name) => otherNames.includes(name));
  return resourceNames.length === 0 ? undefined : { verbs, apiGroups, resources, resourceNames };
}

type Narrower = (one: string, other: string) => string | undefined;

function common(ones: readonly string[] = [], others: readonly string[] = [], narrower: Narrower): string[] {
  return [...new Set(ones.flatMap((one) => others.flatMap((other) => narrower(one, other) ?? [])))];
}

function narrowerText(one: string, other: string): string | undefined {
  if (one === other || other === '*') return one;
  return one === '*' ? other : undefined;
}

function narrowerResource(one: string, other: string): string | undefined {
  const narrower = narrowerText(one, other);
  if (narrower !== undefined) return narrower;
  if (one.startsWith('*/') && other.endsWith(one.slice(1))) return other;
  return other.startsWith('*/') && one.endsWith(other.slice(1)) ? one : undefined;
}

function narrowerPath(one: string, other: string): string | undefined {
  if (coversPath(one, other)) return other;
  return coversPath(other, one) ? one : undefined;
}
