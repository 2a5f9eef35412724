import { useMemo } from 'react';
import { usePluginPages, type PluginPage } from '../frame/plugin-pages.ts';
import { modelName, type ModelInfo } from '../server/model-info.ts';

/** Of one plugin, for one model, or in the palette: no plugin pushes the others out. */
const maxOfPlugin = 20;
/** More objects than a person chooses: a frame is not told them. */
export const maxFrameObjects = 1000;

/** What plugins offer to do with objects of the model, as it is now; the actions of a plugin stand together. */
export function useObjectActions(model: ModelInfo): readonly PluginPage[] {
  const { value = none } = usePluginPages('objectAction');
  return useMemo(() => fewOfEach(value.filter((page) => page.model === modelName(model))), [value, model]);
}

/** What plugins add to the palette. */
export function useCommands(): readonly PluginPage[] {
  const { value = none } = usePluginPages('command');
  return useMemo(() => fewOfEach(value), [value]);
}

const none: readonly PluginPage[] = [];

function fewOfEach(pages: readonly PluginPage[]): readonly PluginPage[] {
  return [...byPlugin(pages).values()].flatMap((own) => own.slice(0, maxOfPlugin));
}

export function byPlugin(pages: readonly PluginPage[]): ReadonlyMap<string, readonly PluginPage[]> {
  const plugins = new Map<string, PluginPage[]>();
  for (const page of pages) {
    const own = plugins.get(page.plugin);
    if (own === undefined) plugins.set(page.plugin, [page]);
    else own.push(page);
  }
  return plugins;
}
