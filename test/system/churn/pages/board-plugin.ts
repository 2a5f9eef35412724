const manifest = {
  apiVersion: 'plugin.svc.run/v1alpha1',
  kind: 'Plugin',
  metadata: { name: 'board' },
  spec: { version: '1.0.0' },
};

const page = (name: string, spec: object): string =>
  JSON.stringify({
    apiVersion: 'console.svc.run/v1alpha1',
    kind: 'ConsolePage',
    metadata: { name },
    spec: {
      rules: [{ apiGroups: ['board.example.com'], resources: ['notes'], verbs: ['list', 'watch'] }],
      ...spec,
    },
  });

const form = { form: { model: 'notes.board.example.com' } };
const list = { list: { model: 'notes.board.example.com' } };

/** The version of the pages is part of their files, so that another one is another hash. */
export const versionFile = 'ui/version.txt';

/** A plugin with a page in each place: of code and of content, with something to type into and without. */
export const boardPlugin: Readonly<Record<string, string>> = {
  'plugin.yaml': JSON.stringify(manifest),
  'index.ts': `
    import { defineModel, definePlugin, Type } from '@svc/sdk';
    const Note = defineModel({ group: 'board.example.com', version: 'v1', kind: 'Note', plural: 'notes', singular: 'note',
      spec: Type.Object({ title: Type.Optional(Type.String()) }) });
    export default definePlugin({ models: [Note] });
  `,
  'presets/note.yaml': JSON.stringify({
    apiVersion: 'board.example.com/v1',
    kind: 'Note',
    metadata: { name: 'first', labels: { 'svc.run/do-not-overwrite': 'true' } },
    spec: { title: 'The first note' },
  }),
  'presets/pages.yaml': [
    page('board-code', { title: 'Code', frame: { file: 'draft.html' } }),
    page('board-content', { title: 'Content', content: [list, form], rules: [] }),
    page('board-tile', { title: 'Tile', place: 'overview', content: [form], rules: [] }),
    page('board-tab', {
      title: 'Board',
      place: 'objectTab',
      model: 'notes.board.example.com',
      frame: { file: 'notes.html' },
    }),
    page('board-own', { title: 'Own', place: 'userCenter', frame: { file: 'notes.html' } }),
  ].join('\n---\n'),
  // Keeps what was typed, so the console does not replace it.
  'pages/draft.ts': `
    import { openPage } from '@svc/client/page';
    async function main(): Promise<void> {
      const { setUnsaved } = await openPage();
      const area = document.createElement('textarea');
      area.ariaLabel = 'Draft';
      area.addEventListener('input', () => setUnsaved(area.value !== ''));
      document.querySelector('#root')?.append(area);
    }
    void main();
  `,
  // Has nothing to lose, so the console replaces it by each newer version.
  'pages/notes.ts': `
    import { live, type AnyObject, type WebModel } from '@svc/client';
    import { openPage } from '@svc/client/page';
    const model: WebModel<AnyObject, {}> = { group: 'board.example.com', version: 'v1', kind: 'Note', plural: 'notes',
      namespaced: false, hasStatusSubresource: false };
    async function main(): Promise<void> {
      const { server } = await openPage();
      const notes = live(server.resource(model));
      notes.subscribe(() => document.querySelector('#root')?.replaceChildren(
        ...notes.current.map(({ metadata }) => Object.assign(document.createElement('p'), { textContent: metadata.name }))));
    }
    void main();
  `,
  [versionFile]: '0',
};
