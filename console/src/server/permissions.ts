import { useEffect } from 'react';
import { Observable, useObservable } from './observable.ts';
import type { ModelInfo } from './model-info.ts';
import { refusals, server } from './server.ts';

interface Rule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  /** Of a rule about paths; `/docs*` is any path that begins so. */
  nonResourceURLs?: string[];
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
/** The version of the rights that was asked for, by namespace. */
const asked = new Map<string, number>();

/** Another number whenever the rights of the user may have changed: what depends on them is read again. */
export const rightsVersion = new Observable(0);

/** Of rights that are shown. */
const maxAgeMs = 60_000;
/** Many refusals at once are one reason to read again. */
const refusalPauseMs = 5000;

let shownUser: string | undefined;

/** Nothing is known of the rights of another person than the one before. */
export function forgetPermissionsOfOthers(userId: string): void {
  const isOther = shownUser !== undefined && shownUser !== userId;
  shownUser = userId;
  if (!isOther) return;
  rules.set(new Map());
  renewRights();
}

function renewRights(): void {
  rightsVersion.set(rightsVersion.get() + 1);
}

/** Until the signal aborts, reads rights again after a refusal, and every minute while the page is visible. */
export function followRights(signal: AbortSignal): void {
  let last = Date.now();
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const renew = (): void => {
    clearTimeout(waiting);
    waiting = undefined;
    last = Date.now();
    renewRights();
  };
  const renewOld = (): void => {
    if (!document.hidden && Date.now() - last >= maxAgeMs) renew();
  };
  const timer = setInterval(renewOld, maxAgeMs);
  document.addEventListener('visibilitychange', renewOld, { signal });
  const unsubscribe = refusals.subscribe(() => {
    waiting ??= setTimeout(renew, Math.max(0, last + refusalPauseMs - Date.now()));
  });
  signal.addEventListener('abort', () => {
    clearInterval(timer);
    clearTimeout(waiting);
    unsubscribe();
  });
}

/** What was known stays until the answer comes. */
async function readRules(namespace: string, version: number): Promise<void> {
  if (asked.get(namespace) === version) return;
  asked.set(namespace, version);
  try {
    const answer = (await server.resource(review).create({
      metadata: {},
      spec: { namespace: namespace === '' ? noNamespace : namespace },
    })) as unknown as { status: { resourceRules: Rule[]; nonResourceRules: Rule[] } };
    if (asked.get(namespace) !== version) return;
    const { resourceRules, nonResourceRules } = answer.status;
    const read = [...resourceRules, ...nonResourceRules];
    if (JSON.stringify(read) !== JSON.stringify(rules.get().get(namespace)))
      rules.set(new Map(rules.get()).set(namespace, read));
  } catch {
    // Unknown rights permit: the server decides in any case.
    if (asked.get(namespace) === version) asked.delete(namespace);
  }
}

/** Answers whether the user has rights in this namespace; all are there until the server has told. */
export function usePermissions(namespace: string): (right: Omit<Right, 'namespace'>) => boolean {
  const known = useObservable(rules).get(namespace);
  const version = useObservable(rightsVersion);
  useEffect(() => void readRules(namespace, version), [namespace, version]);
  return (right) => known === undefined || known.some((rule) => allows(rule, right));
}

/** May the user get a path that belongs to no model? Yes until the server has told. */
export function usePathPermission(path: string): boolean {
  const known = useObservable(rules).get('');
  const version = useObservable(rightsVersion);
  useEffect(() => void readRules('', version), [version]);
  return (
    known === undefined ||
    known.some(
      ({ verbs, nonResourceURLs = [] }) =>
        has(verbs, 'get') &&
        nonResourceURLs.some((url) => url === path || (url.endsWith('*') && path.startsWith(url.slice(0, -1)))),
    )
  );
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
