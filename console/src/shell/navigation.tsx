import { useState, type FocusEvent, type MouseEvent } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { PageLinks } from '../frame/page-links.tsx';
import { models } from '../server/discovery.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { usePermissions } from '../server/permissions.ts';
import { readListView, writeListView } from '../list/list-view.ts';
import { texts } from '../texts/texts.ts';
import { savedViews, viewLink, viewsOf, type SavedView } from '../views/saved-view.ts';
import { ViewLinks } from '../views/view-links.tsx';
import { listLink, rankOf } from './links.ts';

interface ShownModel {
  model: ModelInfo;
  views: readonly SavedView[];
}

/** All models that the user can list in the namespace that is shown, by group, with their saved views. */
export function Navigation({ isOpen, onLeave }: { isOpen: boolean; onLeave: () => void }) {
  const [location] = useLocation();
  const [params] = useSearchParams();
  const [search, setSearch] = useState('');
  const namespace = params.get('ns') ?? '';
  const may = usePermissions(namespace);
  const words = search.trim().toLowerCase();
  const views = useObservable(savedViews).value;
  const fits = (name: string): boolean => name.toLowerCase().includes(words);
  const shown = (useObservable(models) ?? [])
    .filter((model) => may({ verb: 'list', model }))
    .flatMap((model): ShownModel[] => {
      const own = viewsOf(model, views);
      if ([model.kind, model.plural, model.group, ...model.shortNames].some(fits)) return [{ model, views: own }];
      const found = own.filter(({ spec }) => fits(spec.title));
      return found.length === 0 ? [] : [{ model, views: found }];
    });
  // As the link of a view has it.
  const query = writeListView(readListView(params)).toString();
  const here = query === '' ? location : `${location}?${query}`;
  const link = (href: string, text: string, isCurrent = location === href.split('?')[0]) => (
    <Link href={href} aria-current={isCurrent ? 'page' : undefined}>
      {text}
    </Link>
  );
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions, jsx-a11y/click-events-have-key-events -- Its links are what is pressed.
    <nav
      id="navigation"
      className={isOpen ? 'navigation open' : 'navigation'}
      aria-label={texts.navigation.label}
      // Also for a link to the page that is shown, or to another view of it.
      onClick={({ target }: MouseEvent) => {
        if ((target as Element).closest('a') !== null) onLeave();
      }}
      // It lies over the content.
      onBlur={({ relatedTarget }: FocusEvent) => {
        if (relatedTarget instanceof Element && relatedTarget.closest('#content') !== null) onLeave();
      }}
    >
      <ul>
        <li>{link('/', texts.navigation.overview)}</li>
        <li>{link('/apply', texts.navigation.apply)}</li>
        <li>{link('/access', texts.access.title)}</li>
        <li>{link('/plugins', texts.navigation.plugins)}</li>
        <li>{link('/events', texts.navigation.events)}</li>
        <li>{link('/health', texts.navigation.health)}</li>
      </ul>
      <PageLinks />
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
            {members.map((each) => {
              const { model } = each;
              const isView = each.views.some((view) => viewLink(model, view) === here);
              return (
                <li key={model.plural}>
                  {link(
                    listLink(model, model.namespaced ? namespace : ''),
                    model.kind,
                    !isView && location === listLink(model),
                  )}
                  <ViewLinks model={model} views={each.views} shown={here} />
                </li>
              );
            })}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function byGroup(shown: readonly ShownModel[]): Map<string, ShownModel[]> {
  const groups = new Map<string, ShownModel[]>();
  for (const each of shown.toSorted((a, b) => rankOf(a.model) - rankOf(b.model))) {
    const group = each.model.group === '' ? texts.navigation.core : each.model.group;
    groups.set(group, [...(groups.get(group) ?? []), each]);
  }
  return groups;
}
