import { consolePageType, pluginLabel, streamGroup, type ConsolePage, type PolicyRule } from '#pkg/apis/index';
import type { ActingPage } from '#pkg/identity/index';
import type { AccessQuery } from './access-query.ts';
import { compileRules } from './role-entry.ts';
import { RuleIndex } from './rule-index.ts';

/** A stream gives nobody a watch that the rules do not allow. */
const rulesOfAll: readonly PolicyRule[] = [{ verbs: ['create'], apiGroups: [streamGroup], resources: ['streams'] }];
/** Whoever has a token of the user needs no page any more. */
const tokenGroup = 'uc.api.security.svc.run';
const readVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

interface PageEntry {
  page: ActingPage;
  rules: RuleIndex;
}

/** What pages of plugins may do, by their rules alone. A page that is not known may do nothing. */
export class PageTable {
  readonly #entries = new Map<string, PageEntry>();

  get(name: string): ActingPage | undefined {
    return this.#entries.get(name)?.page;
  }

  put(name: string, body: string): void {
    const { metadata, spec } = JSON.parse(body) as ConsolePage;
    const rules = new RuleIndex();
    rules.add(compileRules([...rulesOfAll, ...(spec.rules ?? [])]));
    this.#entries.set(name, { page: { name, plugin: metadata.labels?.[pluginLabel] ?? '' }, rules });
  }

  remove(name: string): void {
    this.#entries.delete(name);
  }

  allows(name: string, query: AccessQuery): boolean {
    return !isForbidden(query) && this.#entries.get(name)?.rules.allows(query) === true;
  }

  /** For reviews: `allows` may still refuse some of them. */
  rulesOf(name: string): PolicyRule[] {
    return Array.from(this.#entries.get(name)?.rules.rules ?? [], ({ rule }) => rule);
  }
}

/** What no page may do, whatever its rules say: get a token, act as somebody else, or give a page more rules. */
function isForbidden({ verb, group, resource }: AccessQuery): boolean {
  if (verb === 'impersonate' || group === tokenGroup) return true;
  return group === consolePageType.group && resource === consolePageType.plural && !readVerbs.has(verb);
}
