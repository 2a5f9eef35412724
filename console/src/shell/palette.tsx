import { useState } from 'react';
import { Autocomplete, Input, Menu, MenuItem, SearchField } from 'react-aria-components';
import { useLocation, useSearchParams } from 'wouter';
import { useCommands as usePluginCommands } from '../actions/plugin-actions.ts';
import { pageLink, usePluginPages, type PluginPage } from '../frame/plugin-pages.ts';
import { rightOf } from '../frame/plugin-request.ts';
import { PageDialog } from '../interface/page-dialog.tsx';
import { models } from '../server/discovery.ts';
import { missingRule } from '../server/missing-rule.ts';
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
  /** Why it does nothing. */
  reason?: string | undefined;
  act: () => void;
}

/** They fit on a small screen; who looks for another types more. */
const maxShown = 12;

interface PaletteProps extends CommandTargets {
  onClose: () => void;
}

/** What is shown by the shell, not by a place of its own. */
interface CommandTargets {
  onKeys: () => void;
  /** A command of a plugin. */
  onCommand: (page: PluginPage) => void;
}

/** Every place and action by its name. */
export default function Palette({ onClose, ...others }: PaletteProps) {
  const [search, setSearch] = useState('');
  const wanted = search.toLowerCase().split(' ');
  const found = useCommands(others).filter((command) => {
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
          {({ id, text, words, reason, act }) => (
            <MenuItem
              id={id}
              className={reason === undefined ? 'menu-item' : 'menu-item off'}
              textValue={`${text} ${words}`}
              onAction={() => {
                if (reason !== undefined) return;
                onClose();
                act();
              }}
            >
              <bdi>{text}</bdi> <small>{words}</small>
              {reason === undefined ? undefined : (
                <>
                  <br />
                  <small>{reason}</small>
                </>
              )}
            </MenuItem>
          )}
        </Menu>
      </Autocomplete>
    </PageDialog>
  );
}

function useCommands({ onKeys, onCommand }: CommandTargets): Command[] {
  const [, navigate] = useLocation();
  const [params] = useSearchParams();
  const namespace = params.get('ns') ?? '';
  const may = usePermissions(namespace);
  const mayAnywhere = usePermissions('');
  const commands = usePluginCommands();
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
      words: texts.frame.ofPlugin(plugin),
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
    // After what the console itself offers.
    ...commands.map((page) => {
      const right = page.action === undefined ? undefined : rightOf(page.action, undefined);
      return {
        id: `command ${page.name}`,
        text: page.title,
        words: [texts.frame.ofPlugin(page.plugin), page.description].filter(Boolean).join(' · '),
        reason: right === undefined || mayAnywhere(right) ? undefined : texts.navigation.noRight(missingRule(right)),
        act: () => onCommand(page),
      };
    }),
  ];
}
