import { useMemo } from 'react';
import { resourceOf } from '../server/model-info.ts';
import { asPlugin, pluginInfo, type PluginObject } from '../server/plugin-info.ts';
import { useLiveRead, type LiveRead, type LiveReadSource } from '../server/use-live-read.ts';

const maxPlugins = 1000;

/** All plugins by name, as they are now. */
export function usePlugins(): LiveRead<PluginObject[]> {
  return useLiveRead(useMemo(sourceOfPlugins, []));
}

function sourceOfPlugins(): LiveReadSource<PluginObject[]> {
  const resource = resourceOf(pluginInfo);
  return {
    resource,
    read: async (signal, noteRevision) => {
      const { items, metadata } = await resource.list({ limit: maxPlugins, signal });
      noteRevision(metadata.resourceVersion);
      return items.map(asPlugin);
    },
  };
}
