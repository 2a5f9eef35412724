import { useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { models } from '../server/discovery.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { usePermissions } from '../server/permissions.ts';
import { texts } from '../texts/texts.ts';
import { listLink } from './links.ts';

/** All models that the user can list in the namespace that is shown, by group. */
export function Navigation({ isOpen }: { isOpen: boolean }) {
  const [location] = useLocation();
  const [params] = useSearchParams();
  const [search, setSearch] = useState('');
  const namespace = params.get('ns') ?? '';
  const may = usePermissions(namespace);
  const words = search.trim().toLowerCase();
  const shown = (useObservable(models) ?? []).filter(
    (model) =>
      may({ verb: 'list', model }) &&
      [model.kind, model.plural, model.group, ...model.shortNames].some((name) => name.toLowerCase().includes(words)),
  );
  const link = (href: string, text: string) => (
    <Link href={href} aria-current={location === href.split('?')[0] ? 'page' : undefined}>
      {text}
    </Link>
  );
  return (
    <nav id="navigation" className={isOpen ? 'navigation open' : 'navigation'} aria-label={texts.navigation.label}>
      <ul>
        <li>{link('/', texts.navigation.overview)}</li>
        <li>{link('/apply', texts.navigation.apply)}</li>
        <li>{link('/access', texts.access.title)}</li>
        <li>{link('/plugins', texts.navigation.plugins)}</li>
        <li>{link('/events', texts.navigation.events)}</li>
        <li>{link('/health', texts.navigation.health)}</li>
      </ul>
      <input
        type="search"
        aria-label={texts.navigation.find}
        placeholder={texts.navigation.find}
        value={search}
        onChange={(event) => setSearch(event.target.value)}
      />
      {shown.length === 0 && words !== '' ? <p>{texts.navigation.none}</p> : undefined}
      {[...byGroup(shown)].map(([group, members]) => (
        <section key={group} aria-label={group}>
          <h2>{group}</h2>
          <ul>
            {members.map((model) => (
              <li key={model.plural}>{link(listLink(model, model.namespaced ? namespace : ''), model.kind)}</li>
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

/** Models of users come first: names of built-in groups end in `k8s.io` or `svc.run`, or are missing. */
function byGroup(shown: readonly ModelInfo[]): Map<string, ModelInfo[]> {
  const groups = new Map<string, ModelInfo[]>();
  for (const model of shown.toSorted((a, b) => rank(a) - rank(b))) {
    const group = model.group === '' ? texts.navigation.core : model.group;
    groups.set(group, [...(groups.get(group) ?? []), model]);
  }
  return groups;
}

function rank({ group }: ModelInfo): number {
  return group === '' ? 1 : /(?:^|\.)(?:k8s\.io|svc\.run)$/.test(group) ? 2 : 0;
}
