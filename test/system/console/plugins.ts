const manifest = (name: string, spec: object): string =>
  JSON.stringify({
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name },
    spec: { version: '1.0.0', ...spec },
  });

/** The files of a plugin with models, settings, a controller, an endpoint and presets; it is not enabled. */
export const notesPlugin = {
  'plugin.yaml': manifest('notes', {
    displayName: 'Notes',
    description: 'Notes that are read.',
    settings: { apiVersion: 'notes.example.com/v1', kind: 'Settings', name: 'notes' },
    permissions: [{ apiGroups: ['notes.example.com'], resources: ['notes'], verbs: ['get', 'list', 'watch'] }],
  }),
  'index.ts': `
    import { controllerFor, defineEndpoint, defineModel, definePlugin, Type } from '@svc/sdk';
    const Note = defineModel({ group: 'notes.example.com', version: 'v1', kind: 'Note', plural: 'notes', singular: 'note',
      spec: Type.Object({ title: Type.String() }) });
    const Settings = defineModel({ group: 'notes.example.com', version: 'v1', kind: 'Settings', plural: 'settings', singular: 'settings',
      spec: Type.Object({ greeting: Type.String({ minLength: 1 }), limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 10 })) }) });
    const reading = controllerFor(Note).named('note-reader').reconcile(async () => undefined);
    const count = defineEndpoint({ audience: 'public', group: 'notes.example.com', version: 'v1', method: 'GET',
      path: '/count', summary: 'How many there are.', handler: async () => ({ count: 0 }) });
    export default definePlugin({ models: [Note, Settings], controllers: [reading], endpoints: [count] });
  `,
  'presets/settings.yaml': JSON.stringify({
    apiVersion: 'notes.example.com/v1',
    kind: 'Settings',
    metadata: { name: 'notes', labels: { 'svc.run/do-not-overwrite': 'true' } },
    spec: { greeting: 'Hello' },
  }),
  'presets/welcome.yaml': JSON.stringify({
    apiVersion: 'notes.example.com/v1',
    kind: 'Note',
    metadata: { name: 'welcome' },
    spec: { title: 'Welcome' },
  }),
};

/** The files of a plugin that is enabled, and cannot start. */
export const brokenPlugin = {
  'plugin.yaml': manifest('broken', { enabled: true }),
  'index.ts': 'throw new Error("I have lost my notes");',
};
