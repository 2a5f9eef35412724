export const frame = {
  pages: 'Pages of plugins',
  /** Of a page, an action or a command: the console says it, not the plugin. */
  ofPlugin: (plugin: string) => (plugin === '' ? 'of no plugin' : `plugin ${plugin}`),
  titleOf: (title: string, plugin: string) => `${title} (${plugin === '' ? 'of no plugin' : `plugin ${plugin}`})`,
  says: (plugin: string) => (plugin === '' ? 'Its text:' : `The plugin ${plugin} says:`),
  sends: 'What is sent:',
  unknown: (name: string) => `There is no page ${name}, or its plugin is not running.`,
  stopped:
    'The plugin of this page has stopped. What you have typed is still here, but cannot be saved until it runs again.',
  newer: 'There is a newer version of this page.',
  showNewer: 'Show it, and lose what is not saved',
  missing: 'The plugin does not serve this page now.',
  again: 'Open it again',
  deleteTitle: (page: string) => `The page “${page}” wants to delete something`,
  deleteText: (path: string) => `It asks for: DELETE ${path}`,
  delete: 'Delete',
  faults: {
    malformed: 'The page was closed, because it sent something that no page sends.',
    flood: 'The page was closed, because it sent too much.',
    hang: 'The page was closed, because it did not answer any more.',
    moved: 'The page was closed, because it left its place.',
  },
};
