import { useState } from 'react';
import { Autocomplete, Input, Menu, MenuItem, SearchField } from 'react-aria-components';
import { useLocation, useSearchParams } from 'wouter';
import { pageLink, usePluginPages } from '../frame/plugin-pages.ts';
import { PageDialog } from '../interface/page-dialog.tsx';
import { models } from '../server/discovery.ts';
import { modelName } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { usePermissions } from '../server/permissions.ts';
import { texts } from '../texts/texts.ts';
import { savedViews, viewLink, viewsOf } from '../views/saved-view.ts';
import { listLink, modelTitle, newLink } from './links.ts';

interface Command {
  id: string;
  text: string;
  /** What else finds it. */
  words: string;
  act: () => void;
}

/** They fit on a small screen; who looks for another types more. */
const maxShown = 12;

/** Every place and action by its name. */
export default function Palette({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const [search, setSearch] = useState('');
  const wanted = search.toLowerCase().split(' ');
  const found = useCommands(onKeys).filter((command) => {
    const text = `${command.text} ${command.words}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  return (
    <PageDialog title={texts.palette.title} onClose={onClose} className="palette">
      <Autocomplete inputValue={search} onInputChange={setSearch}>
        <SearchField aria-label={texts.palette.input} autoFocus>
          <Input placeholder={texts.palette.input} />
        </SearchField>
        <Menu
          className="menu"
          aria-label={texts.palette.title}
          items={found.slice(0, maxShown)}
          renderEmptyState={() => <p>{texts.palette.none}</p>}
        >
          {({ id, text, words, act }) => (
            <MenuItem
              id={id}
              className="menu-item"
              textValue={`${text} ${words}`}
              onAction={() => {
                onClose();
                act();
              }}
            >
              {text} <small>{words}</small>
            </MenuItem>
          )}
        </Menu>
      </Autocomplete>
    </PageDialog>
  );
}

function useCommands(onKeys: () => void): Command[] {
  const [, navigate] = useLocation();
  const [params] = useSearchParams();
  const namespace = params.get('ns') ?? '';
  const may = usePermissions(namespace);
  const all = useObservable(models) ?? [];
  const views = useObservable(savedViews).value;
  const { value: pages = [] } = usePluginPages('page');
  const readable = all.filter((model) => may({ verb: 'list', model }));
  return [
    { id: 'overview', text: texts.navigation.overview, words: '', act: () => navigate('/') },
    { id: 'apply', text: texts.navigation.apply, words: 'yaml', act: () => navigate('/apply') },
    { id: 'access', text: texts.access.title, words: texts.access.words, act: () => navigate('/access') },
    { id: 'plugins', text: texts.navigation.plugins, words: '', act: () => navigate('/plugins') },
    { id: 'events', text: texts.navigation.events, words: 'warnings', act: () => navigate('/events') },
    { id: 'health', text: texts.navigation.health, words: 'metrics', act: () => navigate('/health') },
    { id: 'uc', text: texts.userCenter.name, words: texts.palette.userCenter, act: () => location.assign('/uc/') },
    ...pages.map(({ name, title, plugin }) => ({
      id: `page ${name}`,
      text: title,
      words: plugin,
      act: () => navigate(pageLink(name)),
    })),
    { id: 'keys', text: texts.palette.keys, words: '', act: onKeys },
    ...readable.map((model) => ({
      id: `go ${modelName(model)}`,
      text: texts.palette.go(modelTitle(model, all)),
      words: [model.plural, ...model.shortNames].join(' '),
      act: () => navigate(listLink(model, model.namespaced ? namespace : '')),
    })),
    ...readable.flatMap((model) =>
      viewsOf(model, views).map((view) => ({
        id: `view ${view.metadata.uid}`,
        text: texts.palette.view(view.spec.title, modelTitle(model, all)),
        words: view.spec.description ?? '',
        act: () => navigate(viewLink(model, view)),
      })),
    ),
    ...readable
      .filter((model) => model.verbs.includes('create') && may({ verb: 'create', model }))
      .map((model) => ({
        id: `new ${modelName(model)}`,
        text: texts.palette.create(modelTitle(model, all)),
        words: model.plural,
        act: () => navigate(newLink(model, model.namespaced ? namespace : '')),
      })),
  ];
}
