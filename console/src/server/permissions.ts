import { useEffect } from 'react';
import { Observable, useObservable } from './observable.ts';
import type { ModelInfo } from './model-info.ts';
import { server } from './server.ts';

interface Rule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}

/** A right as a rule of a role has it. */
export interface Right {
  verb: string;
  model: Pick<ModelInfo, 'group' | 'plural' | 'namespaced'>;
  /** Empty: of all namespaces, or of a model without namespaces. */
  namespace: string;
  name?: string;
}

const review = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectRulesReview',
  plural: 'selfsubjectrulesreviews',
  namespaced: false,
  hasStatusSubresource: false,
};
/** A review needs a namespace. No binding can be in this one, so it tells the rights of the whole server. */
const noNamespace = '-';

const rules = new Observable<ReadonlyMap<string, readonly Rule[]>>(new Map());
const asked = new Set<string>();

/** Rights may have changed: they are asked for again. */
export function forgetPermissions(): void {
  asked.clear();
  rules.set(new Map());
}

async function readRules(namespace: string): Promise<void> {
  if (asked.has(namespace)) return;
  asked.add(namespace);
  try {
    const answer = (await server.resource(review).create({
      metadata: {},
      spec: { namespace: namespace === '' ? noNamespace : namespace },
    })) as unknown as { status: { resourceRules: Rule[] } };
    rules.set(new Map(rules.get()).set(namespace, answer.status.resourceRules));
  } catch {
    // Unknown rights permit: the server decides in any case.
    asked.delete(namespace);
  }
}

/** Answers whether the user has rights in this namespace; all are there until the server has told. */
export function usePermissions(namespace: string): (right: Omit<Right, 'namespace'>) => boolean {
  const known = useObservable(rules).get(namespace);
  useEffect(() => void readRules(namespace), [namespace, known]);
  return (right) => known === undefined || known.some((rule) => allows(rule, right));
}

function allows(rule: Rule, { verb, model, name }: Omit<Right, 'namespace'>): boolean {
  return (
    has(rule.verbs, verb) &&
    has(rule.apiGroups, model.group) &&
    has(rule.resources, model.plural) &&
    (rule.resourceNames === undefined ||
      rule.resourceNames.length === 0 ||
      (name !== undefined && rule.resourceNames.includes(name)))
  );
}

function has(values: readonly string[] | undefined, value: string): boolean {
  return values !== undefined && (values.includes('*') || values.includes(value));
}
